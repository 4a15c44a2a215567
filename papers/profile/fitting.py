"""From runs to models, and what each model is worth on runs that it has not seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from joader.errors import BadArgument
from papers.models import loading_rate, regressors, step_time, training_rate
from papers.models.accuracy import Accuracy, accuracy, one_kind_out, parts
from papers.models.loading_rate import LoadingRate
from papers.models.runs import Architecture, LoadingRun, TrainingRun
from papers.models.step_time import StepTime
from papers.models.training_rate import TrainingRate
from papers.profile.architectures import of_the_paper
from papers.profile.samples import Samples

ASKED_R_SQUARED, ASKED_ERROR = 0.9, 0.1
FORMULA, OPERATIONS = "formula 6", "operations"
_SEED = 0
_LEAST_KINDS = 3
_LEAST_LOADING_RUNS = 8  # R² of fewer than three runs says nothing
_LEAST_RUNS = 12  # two of five are held out, and eight numbers are fitted to the others

Predict = Callable[[Sequence[int], Sequence[int]], list[float]]  # learned, held out -> rates


@dataclass(frozen=True)
class Worth:
    """How far one model is from runs that were held out."""

    model: str
    at_random: Accuracy  # two of five
    whole: Accuracy | None  # each architecture in turn, all of them together
    by_kind: Mapping[str, float]  # the median error of each architecture held out


@dataclass(frozen=True)
class TrainingFit:
    """The models of the training rate, for some networks."""

    networks: str
    runs: int
    formula: TrainingRate
    step_time: StepTime
    worth: tuple[Worth, ...]

    @property
    def best(self) -> Worth:
        """The model with the least error for an architecture that was never seen."""
        return min(self.worth, key=lambda one: (one.whole or one.at_random).median_error)

    @property
    def good(self) -> bool:
        """Whether that is as good as was asked for."""
        found = self.best.whole
        return (
            found is not None
            and found.r_squared >= ASKED_R_SQUARED
            and found.median_error <= ASKED_ERROR
        )


@dataclass(frozen=True)
class LoadingFit:
    """The model of the loading rate, and what it is worth."""

    model: LoadingRate
    fitted: Accuracy  # on what it was fitted to
    worth: tuple[tuple[str, Accuracy], ...]  # held out


def fit_training(samples: Samples) -> list[TrainingFit]:
    """Fit models to the networks of A-Dloader's workload, and to all, if there are others."""
    paper = [run for run in samples.training if of_the_paper(run.architecture)]
    known = {one.name: one for one in samples.architectures}
    found = []
    if len(paper) >= _LEAST_RUNS:
        found.append(_fit_training("VGG, ResNet (the paper's)", paper, known))
    if len(paper) < len(samples.training):
        found.append(_fit_training("all networks", samples.training, known))
    if not found:
        raise BadArgument(
            f"{len(paper)} training runs are too few to fit; {_LEAST_RUNS} are needed"
        )
    return found


def _fit_training(
    networks: str, runs: Sequence[TrainingRun], known: Mapping[str, Architecture]
) -> TrainingFit:
    """Fit formula 6, our own and the four regressors, if scikit-learn is there."""
    models = {FORMULA: _formula(runs, known), OPERATIONS: _operations(runs, known)}
    if find_spec("sklearn") is not None:
        rows = training_rate.features(runs, known)
        times = np.array([run.step_s for run in runs])
        for name in regressors.NAMES:
            models[name] = _regressor(name, rows, times)
    return TrainingFit(
        networks,
        len(runs),
        training_rate.fit(runs, known),
        step_time.fit(runs, known),
        tuple(_worth(name, runs, predict) for name, predict in models.items()),
    )


def fit_loading(runs: Sequence[LoadingRun]) -> LoadingFit:
    """Fit the three stages, and compare the four regressors, if scikit-learn is there."""
    model = loading_rate.fit(runs)
    measured = [run.rows_per_s for run in runs]
    fitted = accuracy([model.rows_per_s(run.workers) for run in runs], measured)
    worth: list[tuple[str, Accuracy]] = []
    if len({run.workers for run in runs}) >= _LEAST_KINDS and len(runs) >= _LEAST_LOADING_RUNS:
        learned, held = parts(len(runs), _SEED)
        three = loading_rate.fit([runs[place] for place in learned])
        said = [three.rows_per_s(runs[place].workers) for place in held]
        worth.append(("three stages", accuracy(said, [measured[place] for place in held])))
        if find_spec("sklearn") is not None:
            rows = loading_rate.features(runs, model)
            times = np.array([1.0 / rate for rate in measured])
            worth += regressors.compare(rows, times, learned, held)
    return LoadingFit(model, fitted, tuple(worth))


def _worth(name: str, runs: Sequence[TrainingRun], predict: Predict) -> Worth:
    rates = [1.0 / run.step_s for run in runs]
    learned, held = parts(len(runs), _SEED)
    at_random = accuracy(predict(learned, held), [rates[place] for place in held])
    said, seen, by_kind = [], [], {}
    kinds = {run.architecture for run in runs}
    for kind, kept, out in one_kind_out(runs, lambda run: run.architecture):
        if len(kinds) < _LEAST_KINDS:
            break
        found, actual = predict(kept, out), [rates[place] for place in out]
        by_kind[kind] = accuracy(found, actual).median_error
        said += found
        seen += actual
    return Worth(name, at_random, accuracy(said, seen) if seen else None, by_kind)


def _formula(runs: Sequence[TrainingRun], known: Mapping[str, Architecture]) -> Predict:
    def predict(learned: Sequence[int], held: Sequence[int]) -> list[float]:
        model = training_rate.fit([runs[place] for place in learned], known)
        return [1.0 / model.step_s(runs[p], known[runs[p].architecture]) for p in held]

    return predict


def _operations(runs: Sequence[TrainingRun], known: Mapping[str, Architecture]) -> Predict:
    def predict(learned: Sequence[int], held: Sequence[int]) -> list[float]:
        model = step_time.fit([runs[place] for place in learned], known)
        return [1.0 / model.step_s(runs[p], known[runs[p].architecture]) for p in held]

    return predict


def _regressor(name: str, rows: regressors.Array, times: regressors.Array) -> Predict:
    def predict(learned: Sequence[int], held: Sequence[int]) -> list[float]:
        model = regressors.predictor(name, rows[learned], times[learned])
        return [float(rate) for rate in 1.0 / model(rows[held])]

    return predict
