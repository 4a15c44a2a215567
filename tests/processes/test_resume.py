"""50 steps, a new process, 50 more: every row once, as if the pass had never stopped."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import joader
from joader.client.order.samplers import Batches
from joader.errors import BadArgument
from tests.processes.conftest import Node
from tests.processes.jobs import Job
from tests.processes.test_ranks import launch

STATES = Path(__file__).parents[1] / "client" / "order" / "states"

READ = """
class Random:
    def __init__(self, length):
        self.length = length
    def __len__(self):
        return self.length
    def __getitem__(self, row):
        return row, np.random.randint(2**31)

options = json.loads(sys.argv[1])
data = Random(options.pop("length", 400))
state, steps = options.pop("state", None), options.pop("steps", None)
options.setdefault("key", "random")
loader = joader.DataLoader(data, timeout=60, **options)
if state is not None:
    loader.load_state_dict(state)
read = []
for rows, numbers in loader:
    read.append([rows.tolist(), numbers.tolist()])
    if len(read) == steps:
        break
say([read, loader.state_dict()])
loader.close()
"""


class Read:
    """What all ranks of a job read: rows in order, the random number of each, and the state."""

    def __init__(self, jobs: list[Job], length: int = 400) -> None:
        said = [job.result()[0] for job in jobs]
        self.steps = len(said[0][0])
        assert all(len(read) == self.steps for read, _ in said)
        self.rows: list[int] = []
        self.numbers: dict[int, int] = {}
        for parts in zip(*(read for read, _ in said), strict=True):
            for rows, numbers in parts:
                for row, number in zip(rows, numbers, strict=True):
                    if row not in self.numbers:  # a few rows are repeated to make steps equal
                        self.rows.append(row)
                        self.numbers[row] = number
        self.state = said[0][1]
        assert all(state == self.state for _, state in said)


def read(node: Node, ranks: int = 1, **options: Any) -> Read:
    if ranks == 1:
        return Read([node.job(READ, json.dumps(options))])
    return Read(launch(node, READ, ranks, json.dumps({"job": "train", **options})))


ORDERS: dict[str, dict[str, Any]] = {
    "shared": {"shuffle": True},
    "seeded": {"shuffle": True, "order": "seeded", "seed": 3},
    "given": {"order": "seeded", "seed": 3},
    "told": {"sampler": [(7 * row) % 400 for row in range(400)], "order": "seeded", "seed": 3},
}


slow = pytest.mark.slow


@pytest.mark.parametrize(
    "order", ["shared", *(pytest.param(order, marks=slow) for order in ("seeded", "given")), "told"]
)
def test_100_steps_are_50_and_50_in_a_new_process_and_with_another_daemon(
    node: Node, order: str
) -> None:
    node.up()
    whole = read(node, batch_size=4, **ORDERS[order])
    assert whole.steps == 100
    first = read(node, batch_size=4, steps=50, **ORDERS[order])
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.up()
    second = read(node, batch_size=4, state=first.state, steps=10, **ORDERS[order])
    # Another batch size, and the second resume of this pass.
    third = read(node, batch_size=8, state=second.state, **ORDERS[order])
    assert (first.steps, second.steps, third.steps) == (50, 10, 20)
    assert sorted(first.rows + second.rows + third.rows) == list(range(400))
    assert third.state["epoch"] == 1
    if order != "shared":
        assert first.rows + second.rows + third.rows == whole.rows
        assert {**first.numbers, **second.numbers, **third.numbers} == whole.numbers
    else:
        assert len(set(whole.numbers.values())) == 400


@pytest.mark.parametrize(
    "order", [pytest.param("shared", marks=slow), "seeded", pytest.param("given", marks=slow)]
)
def test_ranks_go_on_as_fewer_ranks_as_one_job_and_as_ranks_again(node: Node, order: str) -> None:
    node.up()
    parts = []
    state = None
    for ranks, batch_size, steps in ((4, 5, 5), (2, 7, 4), (1, 10, 6), (3, 4, None)):
        options = {**ORDERS[order], "batch_size": batch_size, "steps": steps, "state": state}
        parts.append(read(node, ranks, **options))
        state = parts[-1].state
    rows = [row for part in parts for row in part.rows]
    assert sorted(rows) == list(range(400))
    if order != "shared":
        whole = read(node, 1, batch_size=10, **ORDERS[order])
        assert rows == whole.rows
        assert {row: part.numbers[row] for part in parts for row in part.rows} == whole.numbers


def test_a_state_at_the_end_of_an_epoch_begins_the_next(node: Node) -> None:
    node.up()
    ends = read(node, batch_size=4, steps=100, **ORDERS["seeded"])
    assert ends.state["epoch"] == 1
    again = read(node, batch_size=4, state=ends.state, **ORDERS["seeded"])
    assert sorted(again.rows) == list(range(400))
    assert again.rows != ends.rows
    # 10 of 400 are left, which is no whole batch of 16: they are dropped.
    tail = read(node, batch_size=10, steps=39, **ORDERS["seeded"])
    after = read(node, batch_size=16, state=tail.state, drop_last=True, **ORDERS["seeded"])
    assert (after.steps, after.state["epoch"]) == (25, 2)


def test_a_row_that_comes_again_is_another_and_keeps_its_numbers(node: Node) -> None:
    node.up()
    script = READ.replace("say([read, loader.state_dict()])", "say(read)\nsay(loader.state_dict())")

    def numbers(**options: Any) -> tuple[list[int], Any]:
        more = {"length": 9, "sampler": [5, 5, 2, 5, 2, 5], "order": "seeded", **options}
        said, state = node.job(script, json.dumps(more)).result()
        return [number for _, batch in said for number in batch], state

    whole, _ = numbers(batch_size=2)
    assert len(set(whole)) == 6
    first, state = numbers(batch_size=3, steps=1)
    second, _ = numbers(batch_size=1, state=state)
    assert first + second == whole


# In this process, with a daemon for all.


class Numbers:
    """Row i is i, and the shift; the second class differs in code alone."""

    def __init__(self, length: int = 20, shift: int = 0) -> None:
        self.length, self.shift = length, shift

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> int:
        return row + self.shift


class OtherNumbers:
    """The same, with one method changed."""

    def __init__(self, length: int = 20, shift: int = 0) -> None:
        self.length, self.shift = length, shift

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> int:
        return row - self.shift


OtherNumbers.__name__ = OtherNumbers.__qualname__ = "Numbers"


@pytest.fixture
def make(shared_node: Node) -> Iterator[Any]:
    made: list[Any] = []

    def loader(dataset: Any = None, **options: Any) -> Any:
        options = {"batch_size": 2, "shuffle": True, "as_numpy": True, **options}
        made.append(joader.DataLoader(dataset or Numbers(), **options))
        return made[-1]

    yield loader
    for one in made:
        one.close()


def rows_of(batches: Any) -> list[int]:
    return [int(row) for batch in batches for row in np.asarray(batch)]


def test_a_state_that_is_loaded_counts_from_the_next_iter(make: Any) -> None:
    one, other = make(), make()
    begun = rows_of(itertools.islice(one, 4))
    state = one.state_dict()
    old = iter(other)
    read = rows_of(itertools.islice(old, 3))
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert sorted(read + rows_of(old)) == list(range(20))  # as if nothing had been loaded
    assert other.state_dict() == state
    assert sorted(begun + rows_of(other)) == list(range(20))
    assert sorted(rows_of(other)) == list(range(20))


def test_set_epoch_keeps_a_state_of_that_epoch_and_drops_another(make: Any) -> None:
    one, other = make(), make()
    one.set_epoch(3)
    begun = rows_of(itertools.islice(one, 4))
    other.load_state_dict(one.state_dict())
    other.set_epoch(3)  # as loops over epochs do
    assert sorted(begun + rows_of(other)) == list(range(20))
    other.load_state_dict(one.state_dict())
    other.set_epoch(4)
    assert sorted(rows_of(other)) == list(range(20))


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        (Numbers(21), "of a dataset of 20 positions, this one has 21"),
        (Numbers(20, 1), r"dataset\.shift differs, it is now 1"),
        (
            OtherNumbers(20),
            r"dataset\.__class__\.__getitem__\.__code__ differs, it is now code at .*test_res",
        ),
    ],
)
def test_a_dataset_that_has_changed_is_refused_with_what_has(
    make: Any, dataset: Any, words: str
) -> None:
    with pytest.raises(BadArgument, match=words):
        make(dataset).load_state_dict(make().state_dict())


def test_other_arguments_are_refused(make: Any) -> None:
    state = make(order="seeded", seed=3).state_dict()
    with pytest.raises(BadArgument, match=r"seed 3, this loader has seed 4.*with seed=3"):
        make(order="seeded", seed=4).load_state_dict(state)
    told = make(shuffle=None, sampler=[1, 2, 3])
    with pytest.raises(BadArgument, match="of a loader with a sampler and this one has none"):
        make().load_state_dict(told.state_dict())
    batches = make(shuffle=None, batch_size=1, batch_sampler=[[1, 2], [3]])
    with pytest.raises(BadArgument, match="counts positions and this loader's sampler gives batch"):
        batches.load_state_dict(told.state_dict())
    with pytest.raises(BadArgument, match="of a sampler with a state_dict"):
        make(shuffle=None, sampler=Rotating(4)).load_state_dict(told.state_dict())
    for junk in (3, {}, {**told.state_dict()["sampler"], "count": -1}):
        with pytest.raises(BadArgument, match="the state's sampler"):
            told.load_state_dict({**told.state_dict(), "sampler": junk})


def test_junk_leaves_a_loader_as_it_was(make: Any) -> None:
    loader = make()
    begun = rows_of(itertools.islice(loader, 4))
    state = loader.state_dict()
    for name in state:
        for junk in (None, -1, "", b"", [], "00000"):
            # Any text is one for people only, or the name of some other process.
            if not (name in ("outline", "order", "whom") and isinstance(junk, str)):
                with pytest.raises(BadArgument):
                    loader.load_state_dict({**state, name: junk})
        if name in ("life", "whom"):
            continue  # that of an older version
        with pytest.raises(BadArgument, match=f"lacks {name}"):
            loader.load_state_dict({k: value for k, value in state.items() if k != name})
    loader.load_state_dict(state)
    with pytest.raises(BadArgument):
        loader.load_state_dict({**state, "epoch": -3})
    assert loader.state_dict() == state
    assert sorted(begun + rows_of(loader)) == list(range(20))


def test_the_state_files_of_version_1_resume(make: Any) -> None:
    drawn = make(Numbers(100), key="squares", order="seeded", seed=7, batch_size=8)
    drawn.load_state_dict(json.loads((STATES / "version-1-drawn.json").read_text()))
    assert sorted(rows_of(drawn)) == [row for row in range(100) if row % 3]
    assert drawn.state_dict()["epoch"] == 3
    told = make(Numbers(100), key="squares", shuffle=None, sampler=range(0, 100, 2), batch_size=3)
    told.load_state_dict(json.loads((STATES / "version-1-told.json").read_text()))
    assert rows_of(told) == [80, 82, 84, 86, 88, 90, 92, 94, 96, 98]


class Rotating:
    """A sampler that goes on where it was, from pass to pass; iterating it changes its state."""

    def __init__(self, count: int, salt: int = 0) -> None:
        self.count, self.at, self.salt = count, 0, salt

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        while True:
            yield (self.salt + 3 * self.at) % 20
            self.at += 1
            if self.at % self.count == 0:
                return

    def state_dict(self) -> dict[str, int]:
        # The position that was given last counts: the line after its yield has not run yet.
        return {"at": self.at, "salt": self.salt}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at, self.salt = state["at"] + 1, state["salt"]


def test_a_sampler_with_a_state_of_its_own_goes_on_from_it(make: Any) -> None:
    options = {"shuffle": None, "batch_size": 2}
    whole = rows_of(make(sampler=Rotating(16, salt=5), **options))
    first = make(sampler=Rotating(16, salt=5), **options)
    begun = rows_of(itertools.islice(first, 3))
    state = json.loads(json.dumps(first.state_dict()))
    # It was read ahead; the state is that of what was yielded.
    assert state["sampler"]["state"] == {"at": 5, "salt": 5}
    second = make(sampler=Rotating(16), **options)
    second.load_state_dict(state)
    assert begun + rows_of(second) == whole
    batches = make(shuffle=None, batch_size=1, batch_sampler=Batches(range(9), 2, False))
    assert rows_of(itertools.islice(batches, 2)) == [0, 1, 2, 3]
    again = make(shuffle=None, batch_size=1, batch_sampler=Batches(range(9), 2, False))
    again.load_state_dict(batches.state_dict())
    assert rows_of(again) == [4, 5, 6, 7, 8]
