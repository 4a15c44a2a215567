"""A-Dloader's formula 6: what was put in comes out again."""

import numpy as np
import pytest

from joader.errors import BadArgument
from papers.models.runs import Architecture, Operation, TrainingRun
from papers.models.training_rate import features, fit, least_squares

ALPHA = (2e-13, 3e-10, 1e-12, 4e-10, 0.002)
SIZES = {"small": (1e6, 1e8), "middle": (1e7, 2e9), "large": (1e8, 1e10), "flat": (5e7, 1e7)}
KINDS = {
    name: Architecture(name, int(size), (Operation(1, flops, 1.0, 1.0),))
    for name, (size, flops) in SIZES.items()
}


def runs(devices: tuple[int, ...]) -> list[TrainingRun]:
    bare = [TrainingRun(name, b, 1.0, n) for name in KINDS for b in (8, 64, 256) for n in devices]
    times = features(bare, KINDS) @ np.array(ALPHA)
    return [
        TrainingRun(one.architecture, one.batch, float(time), one.devices)
        for one, time in zip(bare, times, strict=True)
    ]


def test_coefficients_are_found_with_several_numbers_of_devices() -> None:
    model = fit(runs((1, 2, 4)), KINDS)
    assert model.separate
    assert model.coefficients == pytest.approx(ALPHA, rel=1e-6)


def test_with_one_device_communication_and_update_cannot_be_told_apart() -> None:
    model = fit(runs((1,)), KINDS)
    assert not model.separate
    assert model.coefficients[1] == 0.0
    assert model.coefficients[3] == pytest.approx(ALPHA[1] + ALPHA[3], rel=1e-6)


def test_an_architecture_that_was_never_seen_is_predicted() -> None:
    known = [run for run in runs((1,)) if run.architecture != "middle"]
    model = fit(known, KINDS)
    for run in runs((1,)):
        assert model.step_s(run, KINDS[run.architecture]) == pytest.approx(run.step_s, rel=1e-6)


def test_no_coefficient_is_negative() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows, times = rng.random((12, 4)), rng.random(12) + 0.1
        found = least_squares(rows, times)
        assert (found >= 0.0).all()
        # Brute force over which of them are zero: none is better.
        best = np.inf
        for mask in range(1, 16):
            some = [k for k in range(4) if mask >> k & 1]
            x = np.linalg.lstsq((rows / times[:, None])[:, some], np.ones(12), rcond=None)[0]
            if (x >= 0).all():
                best = min(best, float(((rows[:, some] @ x / times - 1) ** 2).sum()))
        assert float(((rows @ found / times - 1) ** 2).sum()) == pytest.approx(best, rel=1e-6)


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(BadArgument, match="4 training runs are too few"):
        fit(runs((1,))[:4], KINDS)
