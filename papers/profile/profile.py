"""`joader profile`: measure, fit, say what the models are worth, and keep them."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from joader.cli.console import Console, write
from joader.cli.files import check_writable, write_text
from joader.cli.plot import check_plot_path
from joader.daemon.experience_file import experience_path
from joader.daemon.fingerprint import machine_in_words
from joader.errors import BadArgument
from papers.profile import scripts
from papers.profile.collecting import Plan, collect
from papers.profile.figure import draw
from papers.profile.fitting import LoadingFit, TrainingFit, fit_loading, fit_training
from papers.profile.report import as_json, show_loading, show_training
from papers.profile.samples import Samples, read_samples, write_samples


def profile(
    plan: Plan,
    *,
    collect_to: str | None,
    fit_from: str | None,
    json_path: str | None,
    plots: Sequence[str],
) -> int:
    """Measure this machine and fit models; or only the first, or only the second."""
    if collect_to is not None and fit_from is not None:
        raise BadArgument("give --collect or --fit, one of them; without them both are done")
    if collect_to is not None and plots:
        raise BadArgument("--plot needs the models: leave --collect out, or plot with --fit")
    _check_outputs(json_path, plots, collect_to)
    console = Console(stderr=json_path == "-", highlight=False)
    samples = _samples(plan, fit_from, console)
    for reason in samples.skipped:
        console.print_plain(f"left out: {reason}")
    if collect_to is not None:
        write_samples(samples, collect_to)
        console.print_plain(
            f"{len(samples.training)} training runs, {len(samples.loading)} loading runs: "
            f"{collect_to}\nfit models to them with: joader profile --fit {collect_to}"
        )
        return 0
    if fit_from is None:
        _keep(samples, console)
    training = fit_training(samples) if samples.training else []
    loading = fit_loading(samples.loading) if samples.loading else None
    _show(samples, training, loading, console)
    _write(samples, training, loading, json_path, plots, console)
    if fit_from is None and plan.script and plan.loading:
        with console.status(f"letting a daemon learn {plan.script}"):
            learned = scripts.teach(plan.script, plan.arguments)
        said = "its next run starts with it" if learned else "nothing was learned of it"
        console.print_plain(f"{plan.script}: {said}")
    return 0


def _samples(plan: Plan, fit_from: str | None, console: Console) -> Samples:
    if fit_from is None:
        return collect(plan, console)
    if fit_from:
        return read_samples(fit_from)
    if not kept_path().exists():
        raise BadArgument("no runs of this machine are kept; `joader profile` measures them")
    return read_samples(str(kept_path()))


def kept_path() -> Path:
    """Return where the last runs of this machine lie."""
    return experience_path().with_suffix(".runs.json")


def _keep(samples: Samples, console: Console) -> None:
    """Keep the runs of this machine for another look; without a folder for it, say so."""
    try:
        kept_path().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_samples(samples, str(kept_path()))
    except (OSError, BadArgument) as error:
        console.print_plain(f"the runs are not kept: {error}")


def _check_outputs(json_path: str | None, plots: Sequence[str], collect_to: str | None) -> None:
    for path in plots:
        check_plot_path(path)
        check_writable(path)
    for target in (json_path, collect_to):
        if target is not None and target != "-":
            check_writable(target)


def _show(
    samples: Samples, training: Sequence[TrainingFit], loading: LoadingFit | None, console: Console
) -> None:
    words = [f"{name} {value}" for name, value in samples.machine.items()]
    console.print("Machine: " + ", ".join(words), markup=False)
    here = machine_in_words()
    if {name: samples.machine.get(name) for name in here} != here:
        console.print_plain("  not this machine: its models are shown, and say nothing of this one")
    if training:
        show_training(samples, training, console)
    if loading is not None:
        show_loading(samples.loading, loading, console)


def _write(
    samples: Samples,
    training: Sequence[TrainingFit],
    loading: LoadingFit | None,
    json_path: str | None,
    plots: Sequence[str],
    console: Console,
) -> None:
    text = json.dumps(as_json(samples, training, loading)) + "\n"
    if json_path == "-":
        write(text, sys.stdout)
    elif json_path is not None:
        write_text(json_path, text)
        console.print_plain(f"figures: {json_path}")
    if plots and loading is None:
        raise BadArgument("--plot draws rows per second against workers, and none were measured")
    for path in plots:
        assert loading is not None
        draw(samples.loading, loading.model, path)
        console.print_plain(f"plot: {path}")
