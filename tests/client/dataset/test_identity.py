"""Whether a state is of this dataset and these rows; what has changed is said."""

from typing import Any

import numpy as np
import pytest

from joader.client.dataset.identity import NOT_COMPARABLE, Identity
from joader.errors import BadArgument
from joader.recipe.fingerprint import name_of, outline


class Numbers:
    def __init__(self, size: int) -> None:
        self.size = size


def identity(size: int = 3, rows: Any = range(10), key: str | None = None) -> Identity:
    lines = outline(Numbers(size))
    return Identity(key or name_of(lines), lines, np.array(rows))


def test_a_state_of_the_same_is_accepted_whatever_integers_its_rows_were() -> None:
    state = identity().state()
    assert state["length"] == 10
    identity(rows=np.arange(10, dtype=np.uint8)).check(state)


def test_another_length_is_refused_first() -> None:
    with pytest.raises(BadArgument, match="of 9 positions, this one has 10"):
        identity().check(identity(4, range(9)).state())


def test_what_has_changed_in_the_dataset_is_named_with_the_way_out() -> None:
    state = identity(size=4).state()
    with pytest.raises(BadArgument, match=r"dataset\.size") as caught:
        identity(size=3).check(state)
    assert f"key={state['fingerprint']!r}" in str(caught.value)
    identity(size=3, key=state["fingerprint"]).check(state)


def test_without_outlines_the_names_are_told() -> None:
    one, other = (Identity(name, [], np.arange(3)) for name in ("one", "other"))
    with pytest.raises(BadArgument, match="it was 'other', this one is 'one'"):
        one.check(other.state())


def test_what_cannot_be_compared_is_compared_by_its_rows_only() -> None:
    state = identity(key=NOT_COMPARABLE).state()
    identity().check(state)
    with pytest.raises(BadArgument, match="of other rows"):
        identity(rows=range(1, 11)).check(state)
