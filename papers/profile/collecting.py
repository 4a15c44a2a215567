"""Measures: short training runs with the data on the device, then rows read by so many workers.

Rows first: workers are forked, and a process that has used a GPU should not be.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from joader.cli.console import Console
from joader.daemon.fingerprint import machine_in_words
from joader.daemon.machine import cores
from joader.errors import BadArgument, MissingExtra, to_install
from papers.models.runs import Architecture, LoadingRun, TrainingRun
from papers.profile import loading_runs, scripts
from papers.profile.architectures import checked_names
from papers.profile.loading_runs import Rows
from papers.profile.samples import Samples

BATCHES = {"cuda": (8, 16, 32, 64, 128, 256), "cpu": (2, 4, 8, 12, 16, 32)}
QUICK_ARCHITECTURES = 5
QUICK_BATCHES = 4
_LOADING_TIMES = 2  # each number of workers is measured so often


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is measured."""

    what: str | None = None  # a path, table or script; None: pictures that are made for it
    arguments: list[str] = field(default_factory=list)  # of the script
    device: str = "auto"
    architectures: list[str] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    workers: list[int] = field(default_factory=list)
    seconds: float = 0.0  # per run; 0: usual
    training: bool = True
    loading: bool = True
    quick: bool = False

    @property
    def script(self) -> str:
        """The script whose rows are read; "": none."""
        return self.what if self.what is not None and self.what.endswith(".py") else ""


@dataclass
class _Collected:
    architectures: list[Architecture] = field(default_factory=list)
    training: list[TrainingRun] = field(default_factory=list)
    loading: list[LoadingRun] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def collect(plan: Plan, console: Console) -> Samples:
    """Measure all of it, under a progress bar."""
    device = _device(plan)
    names = checked_names(plan.architectures, device) if plan.training else []
    batches = plan.batches or list(BATCHES.get(device, ()))
    if plan.quick and not plan.architectures:
        names = names[:QUICK_ARCHITECTURES]
    if plan.quick and not plan.batches:
        batches = batches[:QUICK_BATCHES]
    workers = plan.workers or loading_runs.counts(cores(), plan.quick)
    times = 1 if plan.quick else _LOADING_TIMES
    total = plan.training * len(names) * len(batches) + plan.loading * len(workers) * times
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    found = _Collected()
    with ExitStack() as stack:
        progress = stack.enter_context(
            Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        )
        task = progress.add_task("profile", total=total)

        def tick(doing: str) -> None:
            progress.update(task, advance=1, description=doing)

        if plan.loading:
            seconds = plan.seconds or (0.5 if plan.quick else 1.0)
            if plan.script:
                progress.update(task, description=f"rows of {plan.what}")
                found.loading += scripts.load(plan.script, plan.arguments, workers * times, seconds)
                progress.update(task, advance=len(workers) * times)
            else:
                _load(found, _rows(plan.what, stack), workers * times, seconds, tick)
        if plan.training:
            seconds = plan.seconds or (0.1 if plan.quick else 0.25)
            _train(found, names, batches, device, seconds, tick)
    words = {**machine_in_words(), **_device_in_words(device)}
    return Samples(words, device, found.architectures, found.training, found.loading, found.skipped)


def _load(
    found: _Collected,
    rows: Rows,
    workers: Sequence[int],
    seconds: float,
    tick: Callable[[str], None],
) -> None:
    for count in workers:
        found.loading.append(loading_runs.run(rows, count, seconds))
        tick(f"rows, {count} workers")


def _train(
    found: _Collected,
    names: Sequence[str],
    batches: Sequence[int],
    device: str,
    seconds: float,
    tick: Callable[[str], None],
) -> None:
    import torch

    from papers.profile.training_runs import Trainer

    for name in names:
        trainer = Trainer(name, device)
        found.architectures.append(trainer.architecture)
        for batch in batches:
            try:
                found.training.append(trainer.run(batch, seconds))
            except torch.OutOfMemoryError:
                found.skipped.append(f"{name} with batches of {batch}: the GPU's memory is full")
            tick(f"{name}, batches of {batch}")
        del trainer
        if device == "cuda":
            torch.cuda.empty_cache()


def _rows(what: str | None, stack: ExitStack) -> Rows:
    from papers.profile.rows import pictures, rows_at

    if what is not None:
        return rows_at(what)
    if find_spec("PIL") is None:
        raise MissingExtra(
            f"measuring rows needs pictures: {to_install('images')}, or name a dataset"
        )
    return pictures(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="joader-"))))


def _device(plan: Plan) -> str:
    if not plan.training:
        return "none"
    if find_spec("torch") is None:
        raise MissingExtra(
            f"training runs need torch: {to_install('torch')}, or say --only loading"
        )
    import torch

    has_gpu = torch.cuda.is_available()
    if plan.device == "cuda" and not has_gpu:
        raise BadArgument("--device cuda: torch finds no GPU here; use --device cpu")
    return plan.device if plan.device != "auto" else "cuda" if has_gpu else "cpu"


def _device_in_words(device: str) -> dict[str, str]:
    if device == "none":
        return {}
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else "one processor"
    return {"trained on": name, "torch": str(torch.__version__)}
