"""What the Lobster paper says, and what comes out here."""

import numpy as np
import pytest

from joader.simulator.figures import Effort, Figure, Row
from joader.simulator.papers import (
    lobster_ablation,
    lobster_batchtimes,
    lobster_breakdown,
    lobster_gpu_use,
    lobster_hits,
    lobster_imbalance,
    lobster_reuse,
    lobster_speedup,
    lobster_steps,
)
from joader.simulator.papers.lobster_imbalance import lateness, paper
from joader.simulator.papers.lobster_node import LRU, MEMORY, MOST, cached, gpu_use, in_time

SMALL = Effort(3000, 1, (1.0,))


def rows_of(figure: Figure, effort: Effort = SMALL) -> dict[str, Row]:
    return {row.case: row for row in figure.rows(0, effort, lambda: None)}


def test_memory_alone_gives_its_share_at_most_and_little_under_lru() -> None:
    assert cached(MOST, 800, 0) == pytest.approx(MEMORY, abs=0.01)
    assert cached(LRU, 800, 0) == pytest.approx(MEMORY**2 / 2, abs=0.02)


def test_what_storage_delivers_in_a_step_is_there_in_time_and_the_rest_is_waited_for() -> None:
    assert (in_time(0.3, 0.2), gpu_use(0.3, 0.2)) == (0.5, pytest.approx(2 / 7))
    assert (in_time(0.3, 0.9), gpu_use(0.3, 0.9)) == (1.0, 1.0)


def test_hits_of_the_baselines_follow_from_those_of_nopfs_and_a_pool_has_more() -> None:
    found = rows_of(lobster_hits.FIGURE, Effort(1500, 1, (1.0,)))
    assert found["NoPFS (fitted)"].ours == pytest.approx(48.9)
    assert found["PyTorch"].ours == pytest.approx(24.5, abs=3)
    assert found["DALI, 3 read"].ours == pytest.approx(32.6, abs=3)
    ours = found["joader, pool of 8"]
    assert ours.ours >= 63.2
    # Memory holds prepared rows, which are larger than raw ones: fewer than NoPFS keeps.
    assert ours.baseline is not None
    assert ours.baseline < 100 * MEMORY


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


def test_speed_steps_and_parts_are_in_the_order_of_the_paper() -> None:
    effort = Effort(600, 1, (1.0,))
    speed = rows_of(lobster_speedup.FIGURE, effort)
    assert speed["1K, 1 node: NoPFS"].ours == pytest.approx(1.33, abs=0.1)
    for panel in lobster_speedup.PANELS:
        assert speed[f"{panel}: joader"].ours > 1.2 * speed[f"{panel}: NoPFS"].ours
    parts = rows_of(lobster_ablation.FIGURE, effort)
    alone, memory, both = (parts[name].ours for name in lobster_ablation.PAPER)
    assert both == pytest.approx(1.7, abs=0.2)
    assert 1 < memory < alone < both
    slow = {
        row.case: row.ours
        for row in lobster_batchtimes.FIGURE.rows(0, effort, lambda: None)
        if row.x == 90
    }
    assert slow["joader"] < slow["NoPFS"] < slow["DALI"]


def test_no_gpu_waits_for_another_if_eight_nodes_hold_all_rows() -> None:
    found = rows_of(lobster_breakdown.FIGURE, Effort(300, 1, (1.0,)))
    assert found["imbalanced: DALI (fitted)"].ours == pytest.approx(65.3, abs=2)
    assert found["imbalanced: joader"].ours == 0


def test_speed_of_nopfs_follows_from_the_gpu_use_of_pytorch() -> None:
    found = rows_of(lobster_gpu_use.FIGURE, Effort(1500, 1, (1.0,)))
    assert found["GPU use: NoPFS"].ours == pytest.approx(72.4, abs=3)
    assert found["speed: NoPFS"].ours == pytest.approx(1.33, abs=0.05)


def test_most_samples_of_usual_slices_come_back_late_and_none_of_those_that_live_here() -> None:
    rows = {row.x: row for row in lobster_reuse.FIGURE.rows(0, SMALL, lambda: None)}
    assert rows[1000].baseline == pytest.approx(80, abs=6)
    assert rows[1000].ours < 5
    assert rows[2000].ours == 0


def test_both_readings_of_the_percentages_are_those_that_can_be_meant() -> None:
    assert paper("PyTorch", 1, "points") == pytest.approx(48.9)
    assert paper("PyTorch", 1, "relative") == pytest.approx(25.5, abs=0.05)
    assert paper("joader", 8, "points") == paper("joader", 8, "relative") == 22.8


def test_ranks_that_draw_from_one_pool_are_ready_together() -> None:
    found = rows_of(lobster_imbalance.FIGURE, Effort(1500, 1, (1.0,)))
    for reading in lobster_imbalance.READINGS:
        assert found[f"{reading}: joader x1"].ours <= 17.5
        assert found[f"{reading}: joader x8"].ours <= 22.8
    apart, together = (lateness(0.9, pooled, 200, 0) for pooled in (False, True))
    assert np.median(together) < 0.7 * np.median(apart)


@pytest.mark.slow
def test_runs_at_two_scales_agree_within_a_point() -> None:
    smaller, larger = (
        rows_of(lobster_hits.FIGURE, Effort(size, 1, (1.0,))) for size in (5000, 10_000)
    )
    for case in ("PyTorch", "NoPFS (fitted)", "joader, pool of 8"):
        assert smaller[case].ours == pytest.approx(larger[case].ours, abs=1)
