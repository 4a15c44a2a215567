"""A node that leaves waits for those who take what it has alone, and for nobody else."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from joader.daemon import leaving as leaving_module
from joader.daemon.heirs import unpacked
from joader.daemon.leaving import Leaving
from joader.messages import JobSettings, Join, Register

LAST_COPIES = {"one": [1, 5, 9], "two": [], "three": list(range(0, 100, 2))}


class Node:
    """An engine that has these rows alone, and a registration that hosts their recipes."""

    def __init__(self) -> None:
        self.hosted = {
            f"{recipe} everywhere": Register(
                Join(1, recipe, np.arange(100), 100, 1), JobSettings("train.py")
            )
            for recipe in LAST_COPIES
        }
        self.inheritance = self

    def last_copies(self, recipe: str) -> Any:
        return np.array(LAST_COPIES[recipe], np.int64)


@pytest.fixture
def leaving() -> Leaving:
    node: Any = Node()
    return Leaving(node, node)


def played(play: Callable[[Callable[[], None]], None]) -> int:
    """Return how often it was done, when `play` and all it has planned are over."""
    ends: list[None] = []

    async def main() -> None:
        play(lambda: ends.append(None))
        await asyncio.sleep(0)

    asyncio.run(main())
    return len(ends)


def test_it_says_which_rows_are_here_alone(leaving: Leaving) -> None:
    assert not leaving.begun
    said = msgspec.msgpack.decode(leaving.offers())
    assert leaving.begun
    assert leaving.recipes == set(said) == {"one everywhere", "three everywhere"}
    for recipe in ("one", "three"):
        rows = unpacked(said[f"{recipe} everywhere"], 100)
        assert rows.tolist() == LAST_COPIES[recipe]


def test_what_would_be_too_much_to_say_is_not_handed_over(
    leaving: Leaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving_module, "_MOST_BYTES", 1)
    assert leaving.offers() == b""
    assert leaving.recipes == set()


def test_without_anybody_who_could_take_it_the_node_goes_at_once(leaving: Leaving) -> None:
    leaving.offers()
    able = {"linked": {"another"}, "not linked": {"one everywhere"}}
    assert played(lambda done: leaving.begin(able, ["linked"], done)) == 1


def test_it_goes_once_all_have_enough(leaving: Leaving) -> None:
    leaving.offers()
    able = {"a": {"one everywhere"}, "b": {"three everywhere", "more"}, "c": {"more"}}
    ended: list[str] = []

    def play(done: Callable[[], None]) -> None:
        leaving.begin(able, ["a", "b", "c"], lambda: ended.append("end"))
        for node in ("c", "a", "a"):
            leaving.has_enough(node)
            ended.append(node)
        leaving.has_enough("b")
        leaving.has_enough("b")

    played(play)
    assert ended == ["c", "a", "a", "end"]


def test_it_does_not_wait_for_ever(
    leaving: Leaving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(leaving_module, "HAND_OVER_S", 0.01)
    leaving.offers()

    async def main() -> None:
        done = asyncio.Event()
        with caplog.at_level("INFO", logger="joader.cluster"):
            leaving.begin({"slow": {"one everywhere"}}, ["slow"], done.set)
            await asyncio.wait_for(done.wait(), 60.0)

    asyncio.run(main())
    assert "not all was handed over: slow took too long" in caplog.text
