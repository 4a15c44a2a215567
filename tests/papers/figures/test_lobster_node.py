"""One node of the Lobster paper: what its memory holds, and what its storage delivers."""

import pytest

from papers.figures.lobster_node import LRU, MEMORY, MOST, cached, gpu_use, in_time


def test_memory_alone_gives_its_share_at_most_and_little_under_lru() -> None:
    assert cached(MOST, 800, 0) == pytest.approx(MEMORY, abs=0.01)
    assert cached(LRU, 800, 0) == pytest.approx(MEMORY**2 / 2, abs=0.02)


def test_what_storage_delivers_in_a_step_is_there_in_time_and_the_rest_is_waited_for() -> None:
    assert (in_time(0.3, 0.2), gpu_use(0.3, 0.2)) == (0.5, pytest.approx(2 / 7))
    assert (in_time(0.3, 0.9), gpu_use(0.3, 0.9)) == (1.0, 1.0)
