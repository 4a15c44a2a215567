"""All jobs as lines of text: a column per figure, and names get what is left of the width.

Not rich's table: a job's second line is as long as the screen, whatever its columns are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from joader.cli.top.bars import Glyphs, bar
from joader.cli.words import duration, part, printable, rate
from joader.daemon.names import shortened
from joader.statistics import JobStatistics, label_of

# From so many columns on a job has one line, with all that else is in further ones.
WIDE = 150
MOST_LINES = 3  # of one job
_MUCH = 0.3  # of the time waited: it is pointed out
_LEAST_NAME = 8
_MOST_NAME = 24  # beside other names; alone it takes what is left


@dataclass(frozen=True)
class Column:
    """One figure of a job; `width` 0: a share of what is left."""

    title: str
    width: int
    text: Callable[[JobStatistics], str]
    left: bool = False
    is_name: bool = False  # it is cut in the middle, not at the end
    style: Callable[[JobStatistics], str] = lambda job: ""


def job_name(job: JobStatistics) -> str:
    """Return what a job is called."""
    return printable(label_of(job))


def dataset(job: JobStatistics) -> str:
    """Return what a job reads."""
    return printable(job.table or job.dataset or "a dataset")


def company(job: JobStatistics) -> str:
    """Return whom a job shares with."""
    return ", ".join(map(str, job.shares_with)) or "nobody"


def columns(wide: bool, glyphs: Glyphs) -> list[Column]:
    """Return what is shown of each job."""
    reading = [
        Column("EPOCH", 5, lambda job: str(job.epoch)),
        Column("DONE", 13, lambda job: f"{bar(job.done, 8, glyphs)} {job.done:4.0%}", left=True),
        Column("LEFT", 6, _left),
        Column("PER S", 6, lambda job: rate(job.samples_per_s)),
        Column("WAITS", 5, lambda job: part(job.waiting), style=_waiting_style),
    ]
    sharing = [
        Column("SAVED", 5, lambda job: part(job.saved), style=lambda job: "green"),
        Column("WORK", 4, lambda job: "-" if job.ended else part(job.worker_share)),
    ]
    number = Column("JOB", 3, lambda job: str(job.id))
    name = Column("NAME", 0, job_name, left=True, is_name=True)
    if not wide:
        return [number, name, *reading, *sharing]
    counts = [
        Column("DELIVERED", 10, lambda job: f"{job.delivered:,}"),
        Column("PREPARED", 10, lambda job: f"{job.prepared:,}"),
        Column("HITS", 10, lambda job: f"{job.hits:,}"),
        Column("CPU SAVED", 10, lambda job: duration(job.saved_cpu_s)),
    ]
    return [
        *(number, name),
        Column("DATASET", 0, dataset, left=True),
        Column("SHARES WITH", 11, company, left=True),
        *(*reading, *counts, *sharing),
        Column("LIMIT", 0, lambda job: job.diagnosis.says, left=True),
    ]


def table(
    jobs: Sequence[JobStatistics],
    chosen: JobStatistics | None,
    width: int,
    lines_each: int,
    glyphs: Glyphs,
) -> list[Text]:
    """Return titles, and lines per job: its figures, what limits it, what it reads.

    A job that has ended has one.
    """
    shown = _fitted(columns(width >= WIDE, glyphs), jobs, width)
    lines = [_line(["", *(column.title for column in shown)], shown, "bold")]
    for job in jobs:
        here = chosen is not None and job.id == chosen.id
        cells = [glyphs.mark if here else " ", *(column.text(job) for column in shown)]
        line = _line(cells, shown, "dim" if job.ended else "")
        if not job.ended:
            _color(line, job, shown)
        if here:
            line.stylize("bold")
        lines.append(line)
        if not job.ended:
            more = [job.diagnosis.says, f"{dataset(job)}, shares with {company(job)}"]
            lines += [
                Text(f"      {words}", style="dim", no_wrap=True, overflow="ellipsis")
                for words in more[: lines_each - 1]
            ]
    return lines


def _fitted(shown: list[Column], jobs: Sequence[JobStatistics], width: int) -> list[Column]:
    """Return the columns with a width each; of what is left, who needs little leaves the rest."""
    left = width - sum(column.width for column in shown) - len(shown) - 1
    needs = {
        at: max(_LEAST_NAME, *(cell_len(column.text(job)) for job in jobs))
        for at, column in enumerate(shown)
        if not column.width
    }
    fitted = list(shown)
    # Names first: without them the rest of a line is of no use.
    order = sorted(needs.items(), key=lambda pair: (not shown[pair[0]].is_name, pair[1]))
    for done, (at, need) in enumerate(order):
        others = len(needs) - done - 1
        share = max(_LEAST_NAME, left // (others + 1))
        if shown[at].is_name:
            share = max(share, min(_MOST_NAME, left - _LEAST_NAME * others))
        # The last takes all, so that figures stand at the right edge whatever the names are.
        mine = min(need, share) if others else share
        fitted[at] = replace(shown[at], width=mine)
        left -= mine
    return fitted


def _line(cells: Sequence[str], shown: Sequence[Column], style: str) -> Text:
    words = [cells[0] or " "]
    for cell, column in zip(cells[1:], shown, strict=True):
        # By cells, not letters: some letters are two cells wide.
        text = shortened(cell, column.width, cell_len)
        if not column.is_name:
            text = set_cell_size(cell, column.width - 1) + "…" if text != cell else cell
        space = " " * (column.width - cell_len(text))
        words.append(f"{text}{space}" if column.left else f"{space}{text}")
    return Text(" ".join(words).rstrip(), style=style, no_wrap=True, overflow="crop")


def _color(line: Text, job: JobStatistics, shown: Sequence[Column]) -> None:
    at = 2
    for column in shown:
        if style := column.style(job):
            line.stylize(style, at, at + column.width)
        at += column.width + 1


def _left(job: JobStatistics) -> str:
    if job.ended:
        return "ended"
    return "-" if job.time_left_s is None else duration(job.time_left_s)


def _waiting_style(job: JobStatistics) -> str:
    return "yellow" if job.waiting > _MUCH else ""
