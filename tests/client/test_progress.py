"""What was yielded, kept small and read back exactly, or refused."""

import json

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from joader.client.progress import Progress, restored
from joader.errors import BadArgument


@given(st.integers(0, 300), st.data())
@settings(derandomize=True, deadline=None)
def test_a_state_keeps_epoch_and_positions_through_json(length: int, data: st.DataObject) -> None:
    done = (
        data.draw(st.sets(st.integers(0, max(length - 1, 0)), max_size=length)) if length else set()
    )
    progress = Progress(length, 3)
    progress.note(np.array(sorted(done), np.int64))
    state = json.loads(json.dumps(progress.state("print", 5, "shared")))
    again = restored(state, "print", length)
    assert (again.epoch, again.count) == (3, len(done))
    assert again.positions().tolist() == sorted(done)


def test_a_state_takes_about_a_bit_a_position() -> None:
    progress = Progress(1_280_000, 0)
    progress.note(np.random.default_rng(0).permutation(1_280_000)[:640_000])
    assert len(json.dumps(progress.state("print", 0, "shared"))) < 1.3 * 1_280_000 / 8


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"version": 2}, "version 2"),
        ({"length": 9}, "of a dataset of 9 positions, this one has 10"),
        ({"fingerprint": "other"}, "code or data have changed"),
        ({"done": None}, "lacks done"),
    ],
)
def test_a_state_of_something_else_is_refused(change: dict[str, object], word: str) -> None:
    state = {**Progress(10, 0).state("print", 0, "shared"), **change}
    state = {name: value for name, value in state.items() if value is not None}
    with pytest.raises(BadArgument, match=word):
        restored(state, "print", 10)
