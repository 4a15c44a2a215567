"""One job on the screen of `joader top`: all that is known about it."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from joader.cli.top.bars import Glyphs, bar, curve
from joader.cli.top.job_table import company, dataset, job_name
from joader.cli.words import advice, ago, counted, duration, flow_words, part, rate
from joader.statistics import JobStatistics, MomentStatistics, NodeStatistics

_BAR = 24
_CURVE = 48


def details(
    job: JobStatistics,
    node: NodeStatistics,
    moments: Sequence[MomentStatistics],
    glyphs: Glyphs,
    past: Sequence[JobStatistics] = (),
) -> Group:
    """Return the screen of one job; `moments` are the last minutes, `past` jobs that have ended."""
    parts: list[RenderableType] = [
        Text.assemble(
            (f"#{job.id}  ", "dim"), (job_name(job), "bold"), (f"  process {job.pid}", "dim")
        ),
        Text(),
        _facts(job, node, glyphs),
        Text(),
        _curves(job, moments, glyphs),
    ]
    if job.taken_from:
        parts += [
            Text(),
            Text("samples taken from", style="bold"),
            _sources(job, (*node.jobs, *past), glyphs),
        ]
    return Group(*parts)


def _facts(job: JobStatistics, node: NodeStatistics, glyphs: Glyphs) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    left = "" if job.time_left_s is None else f", {duration(job.time_left_s)} left"
    of_what = "of its time" if job.ended else "of the last seconds"
    rows = {
        "reads": dataset(job) + (f" ({job.dataset})" if job.table and job.dataset else ""),
        "shares with": company(job),
        "limit": advice(job.diagnosis),
        "epoch": f"{job.epoch}  {bar(job.done, _BAR, glyphs)} "
        f"{job.position:,} of {job.rows:,} samples{left}",
        "saved": f"{part(job.saved)}: {job.delivered:,} delivered, {job.prepared:,} prepared, "
        f"{job.hits:,} hits",
        "time saved": f"{duration(job.saved_cpu_s)} of CPU, {duration(job.saved_s)} of workers",
        "waited": f"{duration(job.wait_s)} in all, {part(job.waiting)} {of_what}",
        "a row takes": _costs(job),
        "workers": f"{part(job.worker_share)} of all work is for it; {job.why}",
        "samples": f" {glyphs.arrow} ".join(flow_words(job.flow)),
    }
    if job.ended:
        now = {"ended": _life(job, node)}
        rows = now | {name: rows[name] for name in rows if name not in ("workers", "samples")}
    for name, text in rows.items():
        grid.add_row(name, Text(text))
    return grid


def _life(job: JobStatistics, node: NodeStatistics) -> str:
    pace = f"{rate(job.samples_per_s)} samples/s"
    ran = f"after {duration(job.ended - job.began)}, in which it got {pace}"
    return f"{ago(job.ended, node.time)}, {ran}"


def _costs(job: JobStatistics) -> str:
    if not job.row_s:
        return "not known yet"
    parts = {
        "computing": job.computing_s,
        "storage": job.storage_s,
        "waiting for a core": job.core_s,
    }
    told = ", ".join(f"{name} {_short(seconds)}" for name, seconds in parts.items())
    own = f"; {_short(job.own_row_s)} for its own part" if job.own_row_s else ""
    return f"{_short(job.row_s)} of a worker ({told}){own}"


def _short(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _curves(job: JobStatistics, moments: Sequence[MomentStatistics], glyphs: Glyphs) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True, overflow="crop")
    grid.add_column(no_wrap=True)
    its = [moment.jobs[job.id] for moment in moments if job.id in moment.jobs][-_CURVE:]
    rates = [one.samples_per_s for one in its]
    grid.add_row("samples/s", curve(rates, _CURVE, glyphs), f"up to {rate(max(rates, default=0))}")
    waits = [one.waiting for one in its]
    grid.add_row("waits", curve(waits, _CURVE, glyphs), f"up to {part(max(waits, default=0))}")
    return grid


def _sources(job: JobStatistics, others: Sequence[JobStatistics], glyphs: Glyphs) -> Table:
    grid = Table.grid(padding=(0, 2))
    names = {other.id: job_name(other) for other in others}
    most = max(job.taken_from.values())
    gone = sum(count for number, count in job.taken_from.items() if number not in names)
    here = {number: count for number, count in job.taken_from.items() if number in names}
    for number, count in sorted(here.items(), key=lambda pair: -pair[1]):
        mine = bar(count / most, _BAR, glyphs)
        grid.add_row(Text(f"#{number}  {names[number]}"), mine, f"{count:,}")
    if gone:
        words = counted(len(job.taken_from) - len(here), "job")
        grid.add_row(Text(f"{words} that left"), bar(gone / most, _BAR, glyphs), f"{gone:,}")
    return grid
