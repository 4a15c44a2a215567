"""What `joader profile` says: for people as tables, for programs as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from joader.cli.console import Console
from joader.errors import to_install
from papers.models import portfolio
from papers.models.accuracy import Accuracy
from papers.models.runs import LoadingRun
from papers.profile.fitting import (
    ASKED_ERROR,
    ASKED_R_SQUARED,
    LoadingFit,
    TrainingFit,
)
from papers.profile.samples import Samples

ONE_DEVICE = (
    "All runs used one device, so α₁·n and α₃ (both times M) cannot be told apart: α₃ has both. "
    "For several devices, measure there."
)
NO_SKLEARN = f"The four regressors need scikit-learn: {to_install('profile')}"


def show_training(samples: Samples, fits: Sequence[TrainingFit], console: Console) -> None:
    """Print how well steps are predicted."""
    kinds = len({run.architecture for run in samples.training})
    batches = len({run.batch for run in samples.training})
    _say(
        console,
        f"\nTraining: {len(samples.training)} runs, {kinds} architectures, {batches} batch sizes, "
        f"on {samples.machine.get('trained on', samples.device)}, data on the device",
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("model of batches/s")
    for heading in ("R²", "error", "R² (whole)", "error (whole)"):
        table.add_column(heading, justify="right")
    for fit in fits:
        table.add_row(f"{fit.networks}: {fit.runs}")
        for one in fit.worth:
            table.add_row(f"  {one.model}", *_cells(one.at_random), *_cells(one.whole))
    console.print(table)
    _say(
        console,
        "  R² and median relative error on two of five runs, held out at random; (whole): each "
        "architecture in turn held out with all its runs, all of them together",
    )
    for fit in fits:
        best = fit.best
        if best.whole is not None:
            worst = sorted(best.by_kind.items(), key=lambda one: one[1], reverse=True)[:3]
            _say(
                console,
                f"  {fit.networks}: {best.model} is best for an unknown one, R² "
                f"{best.whole.r_squared:.3f}, error {best.whole.median_error:.1%}: "
                f"{'good' if fit.good else 'not good'} enough (R² ≥ {ASKED_R_SQUARED}, error ≤ "
                f"{ASKED_ERROR:.0%}); worst: "
                + ", ".join(f"{name} {error:.0%}" for name, error in worst),
            )
    if len(fits[0].worth) == 2:
        _say(console, f"  {NO_SKLEARN}")
    if not fits[0].formula.separate:
        _say(console, f"  {ONE_DEVICE}")


def show_loading(runs: Sequence[LoadingRun], fit: LoadingFit, console: Console) -> None:
    """Print what so many workers load."""
    _say(console, f"\nLoading: {runs[0].recipe}, {runs[0].sample_bytes:,} bytes a sample")
    table = Table(box=None, pad_edge=False)
    for heading in ("workers", "rows/s", "model", "stage", "1/R ms", "1/U ms"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for count in sorted({run.workers for run in runs}):
        here = [run for run in runs if run.workers == count]
        stage = next((s for s in fit.model.stages if count <= s.most_workers), fit.model.stages[-1])
        table.add_row(
            *(str(count), f"{_mean([run.rows_per_s for run in here]):,.1f}"),
            *(f"{fit.model.rows_per_s(count):,.1f}", stage.name),
            f"{1000 * _mean([run.read_s for run in here]):.2f}",
            f"{1000 * _mean([run.prepare_s for run in here]):.2f}",
        )
    console.print(table)
    for name, one in (("three stages, on what they were fitted to", fit.fitted), *fit.worth):
        _say(console, f"  {name}: R² {one.r_squared:.3f}, error {one.median_error:.1%}")
    models = portfolio.fit(runs)
    most = max(run.workers for run in runs)
    peak = models.peak(runs[0].recipe, runs[0].sample_bytes, most)
    _say(
        console,
        f"  {peak} workers reach the peak within 2 %; 1/R is the time a row waits for storage, 1/U "
        "the rest, both timed",
    )


def as_json(samples: Samples, training: Sequence[TrainingFit], loading: LoadingFit | None) -> Any:
    """Return all figures for programs."""
    body: dict[str, Any] = {
        "machine": samples.machine,
        "device": samples.device,
        "skipped": samples.skipped,
    }
    if training:
        body["training"] = {
            "runs": [asdict(run) for run in samples.training],
            "fits": [{**asdict(fit), "best": fit.best.model, "good": fit.good} for fit in training],
        }
    if loading is not None:
        body["loading"] = {"runs": [asdict(run) for run in samples.loading], **asdict(loading)}
    return body


def _say(console: Console, text: str) -> None:
    """Print a line for people, wrapped between words."""
    console.print(text, markup=False, highlight=False)


def _cells(one: Accuracy | None) -> tuple[str, str]:
    return ("-", "-") if one is None else (f"{one.r_squared:.3f}", f"{one.median_error:.1%}")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
