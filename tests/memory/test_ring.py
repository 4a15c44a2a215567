"""A buffer of the ring is used again only when nothing refers to it any more."""

import gc
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.errors import BadArgument
from joader.memory import Ring

SIZE = 2**20


def address(array: Any) -> int:
    return int(array.ctypes.data)


VIEWS: dict[str, Callable[[np.ndarray], Any]] = {
    "the array": lambda array: array,
    "a slice": lambda array: array[5:9],
    "a slice of a slice of a reshape": lambda array: array.reshape(4, -1)[1:][::2],
    "an element type": lambda array: array.view(np.float32).reshape(2, -1).T,
    "asarray": lambda array: np.asarray(array[:3]),
    "a memoryview": lambda array: memoryview(array)[3:4],
    "a numpy array on a memoryview": lambda array: np.frombuffer(memoryview(array), np.int16),
    "a broadcast": lambda array: np.broadcast_to(array[:1], (5, 1)),
    "an iterator": lambda array: iter(array.reshape(2, -1)),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_a_buffer_is_not_used_again_while_a_view_of_it_lives(view: Callable[[Any], Any]) -> None:
    ring = Ring()
    lent = ring.lend(SIZE)
    where = address(lent)
    held = view(lent)
    del lent
    others = [ring.lend(SIZE) for _ in range(3)]
    assert where not in map(address, others)
    del held
    assert address(ring.lend(SIZE)) == where


def test_a_buffer_in_a_ring_of_references_comes_back_when_that_is_collected() -> None:
    ring = Ring()
    knot: list[Any] = [ring.lend(SIZE)[:1]]
    where = address(knot[0])
    knot.append(knot)
    del knot
    gc.collect()
    assert address(ring.lend(SIZE)) == where


def test_a_user_who_keeps_all_batches_has_them_all() -> None:
    ring = Ring(keep_bytes=SIZE)
    kept = []
    for number in range(20):
        lent = ring.lend(SIZE)
        lent[:] = number
        kept.append(lent)
    assert [int(lent.max()) for lent in kept] == list(range(20))
    assert [int(lent.min()) for lent in kept] == list(range(20))


def test_a_dropped_buffer_is_lent_again_for_sizes_a_little_smaller_or_larger() -> None:
    ring = Ring()
    where = address(ring.lend(SIZE))
    assert address(ring.lend(SIZE - 100)) == where
    lent = ring.lend(SIZE - 5000)
    assert (address(lent), lent.size) == (where, SIZE - 5000)


def test_no_more_than_the_limit_stays_idle() -> None:
    ring = Ring(keep_bytes=3 * SIZE)
    lent = [ring.lend(SIZE) for _ in range(10)]
    del lent
    ring.lend(SIZE)
    assert sum(block.size for block in ring._idle) <= 4 * SIZE
    frugal = Ring(keep_bytes=0)
    lent = [frugal.lend(SIZE), frugal.lend(2 * SIZE)]
    del lent
    frugal.lend(4 * SIZE)
    assert [block.size for block in frugal._idle] == [4 * SIZE]
    with pytest.raises(BadArgument, match="0 or more"):
        Ring(keep_bytes=-1)


def test_small_buffers_are_plain_arrays() -> None:
    ring = Ring()
    assert ring.lend(1000).base is None
    assert ring.lend(0).size == 0


def test_buffers_outlive_their_ring() -> None:
    ring = Ring()
    lent = ring.lend(SIZE)
    lent[:] = 3
    del ring
    assert (lent == 3).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["lend", "drop"]), st.integers(0, 9)), max_size=60))
def test_what_is_held_never_changes(steps: list[tuple[str, int]]) -> None:
    ring = Ring(keep_bytes=2 * SIZE)
    held: dict[int, np.ndarray] = {}
    for number, (step, place) in enumerate(steps):
        if step == "drop":
            held.pop(place, None)
            continue
        lent = ring.lend(SIZE // (1 + place % 2))
        lent[[0, -1]] = number % 251
        held[place] = lent[:: lent.size - 1].view()
        held[place].flags.writeable = False
        del lent
        spans = sorted((address(view), view.strides[0]) for view in held.values())
        assert all(one + size < two for (one, size), (two, _) in pairwise(spans))


def test_threads_that_lend_at_once_never_get_the_same_buffer() -> None:
    ring = Ring()
    wrong = []

    def work(mark: int) -> None:
        for _ in range(300):
            lent = ring.lend(SIZE)
            lent[::4096] = mark
            if not (lent[::4096] == mark).all():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(ring._idle) <= 8  # each thread lends the next before it lets go of the last
