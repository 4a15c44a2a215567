"""Steps of eight GPUs that go on together, as the Lobster paper has them."""

import pytest

from papers.figure import Effort
from papers.figures import lobster_steps

SMALL = Effort(3000, 1, (1.0,))


def test_a_step_waits_for_the_last_gpu_and_own_threads_are_slower_than_a_pool() -> None:
    own = lobster_steps.Loader(0.9, 2, 0.1)
    pool = lobster_steps.Loader(0.9, 2, 0.1, pooled=True)
    apart, together = (lobster_steps.steps(loader, 80, 0) for loader in (own, pool))
    assert together.batch_s.mean() < apart.batch_s.mean()
    assert (apart.batch_s >= 1 - 1e-9).all()
    assert (apart.idle_s >= -1e-9).all()
    assert apart.idle_s.min(1) == pytest.approx(0.0)  # one GPU is always the last
    nothing = lobster_steps.steps(lobster_steps.Loader(0.0, 2, 0.05), 20, 0)
    assert nothing.batch_s == pytest.approx(1.0)


def test_threads_are_fitted_to_the_gpu_use_of_the_baselines() -> None:
    found = lobster_steps.loaders(SMALL, 0, lobster_steps.IMAGENET_1K, 1)
    for name, use in lobster_steps.GPU_USE.items():
        mean = lobster_steps.steps(found[name], lobster_steps.FITTED, 0).batch_s.mean()
        assert 100 / mean == pytest.approx(use, abs=0.5)
