"""What the Lobster paper says, and what comes out here."""

import numpy as np
import pytest

from joader.simulator.figures import Effort, Figure, Row
from joader.simulator.papers import (
    lobster_gpu_use,
    lobster_hits,
    lobster_imbalance,
    lobster_reuse,
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


def test_hits_of_pytorch_follow_from_those_of_nopfs() -> None:
    found = rows_of(lobster_hits.FIGURE)
    assert found["NoPFS (fitted)"].ours == pytest.approx(48.9)
    assert found["PyTorch"].ours == pytest.approx(24.5, abs=3)


def test_speed_of_nopfs_follows_from_the_gpu_use_of_pytorch() -> None:
    found = rows_of(lobster_gpu_use.FIGURE)
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
    for case in ("PyTorch", "NoPFS (fitted)", "joader"):
        assert smaller[case].ours == pytest.approx(larger[case].ours, abs=1)
