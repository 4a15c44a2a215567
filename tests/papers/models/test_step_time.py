"""Steps, operation by operation."""

import numpy as np
import pytest

from joader.errors import BadArgument
from papers.models.runs import Architecture, Operation, TrainingRun
from papers.models.step_time import StepTime, fit

TRUE = StepTime(1e-13, 4e-13, 1e-11, 2e-5, 5e-13, 8e-6, 3e-5, 1e-4)


def architecture(name: str, seed: int) -> Architecture:
    rng = np.random.default_rng(seed)
    operations = tuple(
        Operation(
            int(rng.integers(1, 20)),
            float(rng.choice([0.0, 10.0 ** rng.uniform(5, 8.5)])),
            10.0 ** rng.uniform(3, 6.5),
            10.0 ** rng.uniform(2, 6.5),
        )
        for _ in range(30)
    )
    return Architecture(name, 1000, operations)


KINDS = {f"{n}": architecture(f"{n}", n) for n in range(12)}


def runs(noise: float = 0.0) -> list[TrainingRun]:
    rng = np.random.default_rng(1)
    bare = [TrainingRun(name, batch, 1.0) for name in KINDS for batch in (8, 32, 128, 512)]
    return [
        TrainingRun(
            one.architecture,
            one.batch,
            TRUE.step_s(one, KINDS[one.architecture]) * float(np.exp(noise * rng.normal())),
        )
        for one in bare
    ]


def test_a_step_is_the_sum_of_what_each_operation_takes() -> None:
    model = StepTime(1.0, 2.0, 30.0, 50.0, 10.0, 5.0, 60.0, 100.0)
    kind = Architecture("a", 1, (Operation(2, 30.0, 1.0, 3.0), Operation(1, 0.0, 0.0, 7.0)))
    # flops 60, bytes 5, narrow 2·1²/30, twice; then 7 bytes.
    arithmetic = 2 * (60.0 + 10.0 + 2.0 + 50.0)
    assert model.step_s(TrainingRun("a", 2, 1.0), kind) == arithmetic + 75.0 + 100.0


def test_a_step_takes_no_less_than_queueing_its_operations() -> None:
    model = StepTime(1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 60.0, 100.0)
    kind = Architecture("a", 1, (Operation(3, 0.0, 0.1, 0.0),))
    assert model.step_s(TrainingRun("a", 2, 1.0), kind) == 3 * 60.0 + 100.0


def test_an_architecture_that_was_never_seen_is_predicted_within_a_few_percent() -> None:
    for held in ("0", "4"):
        model = fit([run for run in runs(noise=0.02) if run.architecture != held], KINDS)
        for run in runs():
            if run.architecture == held:
                assert model.step_s(run, KINDS[held]) == pytest.approx(run.step_s, rel=0.1)


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(BadArgument, match="too few"):
        fit(runs()[:7], KINDS)
