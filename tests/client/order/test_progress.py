"""What was yielded, kept small and read back exactly, or refused."""

import base64
import json
import time
import zlib
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from joader.client.dataset.identity import NOT_COMPARABLE, Identity
from joader.client.order.progress import DrawnBy, Progress, restored
from joader.errors import BadArgument
from joader.recipe.fingerprint import look
from joader.recipe.fingerprint.shorthand import MOST_LINES

STATES = Path(__file__).parent / "states"


def named(length: int) -> Identity:
    return Identity("print", [], np.arange(length))


def seen(thing: object, rows: int = 5) -> Identity:
    """Return what is seen of a dataset."""
    sight = look(thing, max_lines=MOST_LINES)
    return Identity(sight.name, sight.outline, np.arange(rows))


@given(st.integers(0, 300), st.data())
@settings(derandomize=True, deadline=None)
def test_a_state_keeps_epoch_and_positions_through_json(length: int, data: st.DataObject) -> None:
    done = (
        data.draw(st.sets(st.integers(0, max(length - 1, 0)), max_size=length)) if length else set()
    )
    progress = Progress(length, 3, 2**62, DrawnBy(7, "me"))
    progress.note(np.array(sorted(done), np.int64))
    state = json.loads(json.dumps(progress.state(named(length), 5, "shared")))
    again = restored(state, named(length))
    assert (again.epoch, again.count, again.key) == (3, len(done), 2**62)
    assert again.drawn_by == DrawnBy(7, "me")
    assert again.positions().tolist() == sorted(done)


@pytest.mark.parametrize("fill", [0.0, 0.01, 0.1, 0.5, 0.9, 1.0])
def test_a_state_takes_at_most_a_bit_a_position_and_no_time(fill: float) -> None:
    length = 1_280_000
    progress = Progress(length, 0)
    progress.note(np.random.default_rng(0).permutation(length)[: int(fill * length)])
    identity = named(length)
    identity.state()  # rows are digested once
    took = []
    for _ in range(3):
        started = time.process_time()
        state = progress.state(identity, 0, "shared")
        took.append(time.process_time() - started)
    # Text holds four bytes in five characters.
    assert len(state["done"]) <= 1.001 * (length / 8) * 5 / 4
    assert len(json.dumps(state)) - len(state["done"]) < 400
    assert min(took) < 0.1  # about 0.02 s
    assert fill == 0.5 or len(state["done"]) < 0.6 * (length / 8) * 5 / 4


def cut_bitmap(state: dict[str, Any]) -> str:
    return str(state["done"])[:-3]


def other_bitmap(length: int) -> str:
    return base64.b85encode(zlib.compress(bytes(length))).decode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version 2 and this joader reads up to 1: it was made by a newer joader"),
        ({"version": 0}, "version of the state is 0"),
        ({"version": "1"}, "version of the state is '1'"),
        ({"length": 9}, "of a dataset of 9 positions, this one has 1000"),
        ({"fingerprint": "other"}, "it was 'other', this one is 'print'.*key='other'"),
        ({"rows": "0011"}, "other rows of this dataset"),
        ({"done": None}, "lacks done"),
        ({"epoch": None, "key": None}, "lacks epoch, key"),
        ({"epoch": -1}, "epoch of the state is -1; it is an integer >= 0"),
        ({"epoch": 2**63}, "epoch of the state is 9223372036854775808"),
        ({"epoch": True}, "epoch of the state is True"),
        ({"key": 1.5}, "key of the state is 1.5"),
        ({"seed": [1]}, r"seed of the state is \[1\]"),
        ({"order": 3}, "order of the state is 3; it is text"),
        ({"done": b"abc"}, "done of the state is b'abc'; it is text"),
        ({"done": "ä"}, "not the bitmap that was saved"),
        ({"done": ""}, "not the bitmap that was saved"),
        ({"done": "00000"}, "not the bitmap that was saved"),
        ({"done": cut_bitmap}, "not the bitmap that was saved"),
        ({"done": other_bitmap(124)}, "1000 positions take 125 bytes, it has 124"),
        ({"done": other_bitmap(126)}, "1000 positions take 125 bytes, it has more"),
        ({"done": other_bitmap(10**8)}, "1000 positions take 125 bytes, it has more"),
    ],
)
def test_what_is_no_state_of_this_dataset_is_refused(change: dict[str, Any], words: str) -> None:
    progress = Progress(1000, 0)
    progress.note(np.random.default_rng(0).permutation(1000)[:500])
    state = progress.state(named(1000), 0, "shared")
    for name, value in change.items():
        state[name] = value(state) if callable(value) else value
    state = {name: value for name, value in state.items() if value is not None}
    with pytest.raises(BadArgument, match=words):
        restored(state, named(1000))


@pytest.mark.parametrize("junk", [None, 3, "state", [], {}, {"version": 1}])
def test_other_things_are_no_states(junk: object) -> None:
    with pytest.raises(BadArgument, match="not a state of a loader"):
        restored(junk, named(3))


class Scaled:
    def __init__(self, scale: int, labels: Any = (), **more: object) -> None:
        self.reader, self.labels = {"scale": scale}, np.array(labels)
        self.__dict__.update(more)

    def __len__(self) -> int:
        return 5

    def __getitem__(self, row: int) -> int:
        return row * int(self.reader["scale"])


class Shifted(Scaled):
    def __getitem__(self, row: int) -> int:
        return row + 1


def state_of(thing: object, rows: int = 5) -> dict[str, Any]:
    identity = seen(thing, rows)
    state: dict[str, Any] = json.loads(json.dumps(Progress(rows, 0).state(identity, 0, "shared")))
    return state


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (Scaled(4), r"dataset\.reader\['scale'\] differs, it is now 4"),
        (Scaled(3, [1, 2]), r"dataset\.labels differs, it is now int64 array of shape \(2,\)"),
        (Scaled(3, root="a"), r"dataset\.root is in one only"),
        (Shifted(3), r"dataset\.__class__"),
    ],
)
def test_a_state_says_what_has_changed_in_the_dataset(now: object, words: str) -> None:
    state = state_of(Scaled(3))
    assert len(state["outline"]) < 4100
    assert restored(state, seen(Scaled(3))).epoch == 0
    with pytest.raises(BadArgument, match=words):
        restored(state, seen(now))


def test_a_state_keeps_no_values_of_the_dataset() -> None:
    state = state_of(Scaled(3, token="swordfish"))
    outline = zlib.decompress(base64.b85decode(state["outline"])).decode()
    assert ".token" in outline
    assert "swordfish" not in outline


def test_a_state_of_a_large_dataset_stays_small_and_says_where_to_look() -> None:
    many = {f"name {number}": {number: str(number)} for number in range(3000)}
    state = state_of(Scaled(3, many=many))
    assert len(json.dumps(state)) < 5000
    with pytest.raises(BadArgument, match="of another dataset"):
        restored(state, seen(Scaled(3, many={**many, "name 7": {}})))


def test_a_dataset_that_is_named_again_goes_on_from_the_state() -> None:
    state = state_of(Scaled(3))
    assert restored(state, Identity(state["fingerprint"], [], np.arange(5))).epoch == 0


def test_what_cannot_be_compared_goes_on_from_any_state_of_so_many_rows() -> None:
    state = state_of(Scaled(3))
    assert restored(state, Identity(NOT_COMPARABLE, [], np.arange(5))).epoch == 0
    opaque = Progress(5, 7).state(Identity(NOT_COMPARABLE, [], np.arange(5)), 0, "shared")
    assert restored(opaque, seen(Scaled(4))).epoch == 7
    with pytest.raises(BadArgument, match="of a dataset of 5 positions"):
        restored(opaque, seen(Scaled(4), rows=6))


@pytest.mark.parametrize("name", ["drawn", "told"])
def test_states_of_this_version_stay_readable(name: str) -> None:
    """Files written by version 1 of the format: readable for as long as STATE_VERSION counts on."""
    state = json.loads((STATES / f"version-1-{name}.json").read_text())
    identity = Identity("squares", [], np.arange(100))
    progress = restored(state, identity)
    if name == "drawn":
        assert (progress.epoch, progress.key, state["order"]) == (2, 1234567890123456789, "seeded")
        assert progress.positions().tolist() == list(range(0, 100, 3))
    else:
        assert state["sampler"] == {
            "unit": "positions",
            "count": 40,
            "generator": "",
            "state": None,
        }
