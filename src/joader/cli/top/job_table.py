"""All jobs as lines of text: a column per figure, and names get what is left of the width.

Not rich's table: a job's second line is as long as the screen, whatever its columns are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.text import Text

from joader.cli.top.bars import Glyphs, bar
from joader.cli.words import duration, part, printable, rate
from joader.statistics import JobStatistics

# From so many columns on a job has one line, with all that else is its second.
WIDE = 150
_MUCH = 0.3  # of the time waited: it is pointed out
_LEAST_NAME = 8


@dataclass(frozen=True)
class Column:
    """One figure of a job; `width` 0: a share of what is left."""

    title: str
    width: int
    text: Callable[[JobStatistics], str]
    left: bool = False
    style: Callable[[JobStatistics], str] = lambda job: ""


def job_name(job: JobStatistics) -> str:
    """Return what a job is called, with its rank if it has one."""
    rank = f", rank {job.rank}" if job.world_size > 1 else ""
    return printable(job.name) + rank


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
        Column("WORK", 4, lambda job: part(job.worker_share)),
    ]
    number = Column("JOB", 3, lambda job: str(job.id))
    name = Column("NAME", 0, job_name, left=True)
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
        Column("WORKERS", 0, lambda job: job.why, left=True),
    ]


def table(
    jobs: Sequence[JobStatistics],
    chosen: JobStatistics | None,
    width: int,
    second_lines: bool,
    glyphs: Glyphs,
) -> list[Text]:
    """Return a line of titles, and one line or two per job."""
    shown = columns(width >= WIDE, glyphs)
    fixed = sum(column.width for column in shown) + len(shown) + 2
    shares = sum(column.width == 0 for column in shown)
    name_width = max(_LEAST_NAME, (width - fixed) // shares)
    lines = [_line(["", *(column.title for column in shown)], shown, name_width, "bold")]
    for job in jobs:
        here = chosen is not None and job.id == chosen.id
        cells = [glyphs.mark if here else " ", *(column.text(job) for column in shown)]
        line = _line(cells, shown, name_width, "")
        _color(line, job, shown, name_width)
        if here:
            line.stylize("bold")
        lines.append(line)
        if second_lines:
            words = f"      {dataset(job)}, shares with {company(job)}; {job.why}"
            lines.append(Text(words, style="dim", no_wrap=True, overflow="ellipsis"))
    return lines


def _line(cells: Sequence[str], shown: Sequence[Column], name_width: int, style: str) -> Text:
    words = [cells[0] or " "]
    for cell, column in zip(cells[1:], shown, strict=True):
        width = column.width or name_width
        text = Text(cell)
        text.truncate(width, overflow="ellipsis")
        # By cells, not letters: some letters are two cells wide.
        space = " " * (width - text.cell_len)
        words.append(f"{text.plain}{space}" if column.left else f"{space}{text.plain}")
    return Text(" ".join(words), style=style, no_wrap=True, overflow="crop")


def _color(line: Text, job: JobStatistics, shown: Sequence[Column], name_width: int) -> None:
    at = 2
    for column in shown:
        width = column.width or name_width
        if style := column.style(job):
            line.stylize(style, at, at + width)
        at += width + 1


def _left(job: JobStatistics) -> str:
    return "-" if job.time_left_s is None else duration(job.time_left_s)


def _waiting_style(job: JobStatistics) -> str:
    return "yellow" if job.waiting > _MUCH else ""
