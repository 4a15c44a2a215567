"""What the demo shows while it runs: bars on a terminal, otherwise a line now and then."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from joader.cli.console import Console
from joader.cli.demo.side import Job, Plan, Side

_REFRESH_PER_S = 6
_LINE_EVERY_S = 5.0
# What stands beside the bars: names, figures and the space between.
_BESIDE = 58


@contextmanager
def counting(console: Console, title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show how many of `total` are done; yield a function to call after each one."""
    if not console.is_terminal:
        console.print(title)
        yield lambda: None
        return
    count = TextColumn("{task.completed:>6,.0f} of {task.total:,.0f}")
    with Progress(_bar(console), count, console=console, refresh_per_second=_REFRESH_PER_S) as bars:
        bars.console.print(title, highlight=False)
        task = bars.add_task("", total=total)
        yield lambda: bars.advance(task)


@contextmanager
def watching(console: Console, side: Side, plan: Plan) -> Iterator[Callable[[], None]]:
    """Show the jobs of a side; yield a function that updates the display."""
    console.print(f"\n[bold]{side.name}[/]: {side.line}", highlight=False)
    if not console.is_terminal:
        yield _Lines(console, side)
        return
    columns = (
        TextColumn("{task.description}"),
        _bar(console),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=console, refresh_per_second=_REFRESH_PER_S) as bars:
        tasks = [(job, bars.add_task(job.name, total=job.of, text="")) for job in side.jobs]

        def look() -> None:
            for job, task in tasks:
                bars.update(task, completed=job.samples, text=_text(job, plan))

        yield look
        look()


def _bar(console: Console) -> BarColumn:
    return BarColumn(bar_width=max(4, min(28, console.width - _BESIDE)), pulse_style="bar.back")


def _text(job: Job, plan: Plan) -> str:
    if not job.ready:
        return "starts"
    if not job.started:
        return "is ready"
    return f"epoch {job.epoch + 1}/{plan.epochs} {job.rate:>6,.0f}/s  loss {job.loss:.3f}"


class _Lines:
    """Lines of text about a side, not too many."""

    def __init__(self, console: Console, side: Side) -> None:
        self._console, self._side = console, side
        self._next = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._next and not self._side.ended:
            return
        self._next = time.monotonic() + _LINE_EVERY_S
        jobs = self._side.jobs
        done = " ".join(f"{job.samples / job.of:4.0%}" for job in jobs)
        rate = sum(job.rate for job in jobs)
        self._console.print(f"  jobs at {done}, {rate:,.0f} samples/s", highlight=False)
