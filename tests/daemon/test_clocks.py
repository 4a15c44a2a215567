"""What nodes tell each other of how far streams are read, and what the engine hears of it."""

from typing import Any

import msgspec
import numpy as np
import pytest

from joader.daemon.clocks import SALT_EVERY, UNSAID, Clocks
from joader.engine import Engine
from joader.messages import Begin, Event, Hear, JobSettings, Join, Register, Want

STREAM = 7
RECIPE, EVERYWHERE = "recipe", "recipe on any machine"


class Host:
    """A job that reads a recipe here."""

    def __init__(self) -> None:
        rows = np.arange(100)
        join = Join(1, RECIPE, rows, rows.size, 10, stream=STREAM)
        self.register = Register(join, JobSettings("train.py"), everywhere=EVERYWHERE)
        self.everywhere = EVERYWHERE


class Node:
    """The clocks of a node whose engine is real; `heard` is what that was told."""

    def __init__(self) -> None:
        self.engine, self.heard = Engine(1 << 20), list[Event]()
        self.host: Host | None = None
        registration: Any = self
        self.clocks = Clocks(self.engine, registration, self.heard.append)

    def host_of(self, recipe: str) -> Host | None:
        return self.host if recipe == EVERYWHERE else None

    def reads(self) -> None:
        self.host = Host()
        self.engine.take(self.host.register.join)
        self.engine.take(Begin(1, key=1))
        self.engine.take(Want(1, 10))
        self.engine.say()


def said(generation: int, head: int, stream: int = STREAM) -> bytes:
    return msgspec.msgpack.encode((stream, generation, ((0, generation, head, 100),)))


@pytest.fixture
def node() -> Node:
    return Node()


def test_what_a_node_says_is_what_another_hears(node: Node) -> None:
    node.reads()
    other = Node()
    other.reads()
    assert node.host is not None
    other.clocks.said("first", EVERYWHERE, node.clocks.of(node.host))  # type: ignore[arg-type]
    (heard,) = other.heard
    assert isinstance(heard, Hear)
    assert (heard.recipe, heard.stream) == (RECIPE, STREAM)
    ((_, generation, head, size),) = heard.clocks
    assert (generation, size) == (1, 100)
    assert head >= 10


def test_a_recipe_that_nobody_reads_here_is_noted_until_somebody_does(node: Node) -> None:
    node.clocks.said("a", EVERYWHERE, said(3, 50))
    assert node.heard == []
    node.reads()
    node.clocks.joined(EVERYWHERE)
    assert node.heard == [Hear(RECIPE, STREAM, ((0, 3, 50, 100),), past=3)]


def test_the_engine_is_told_only_what_is_new(node: Node) -> None:
    node.reads()
    node.clocks.said("a", EVERYWHERE, said(1, 50))
    node.clocks.said("a", EVERYWHERE, said(1, 50))
    assert len(node.heard) == 1
    node.clocks.said("b", EVERYWHERE, said(1, 60))
    assert len(node.heard) == 2
    # A job that joins has heard nothing.
    node.clocks.joined(EVERYWHERE)
    assert node.heard[2] == node.heard[1]


@pytest.mark.parametrize("gone", ["said", "forgotten"])
def test_a_node_that_reads_no_more_or_has_gone_does_not_count(node: Node, gone: str) -> None:
    node.reads()
    node.clocks.said("a", EVERYWHERE, said(1, 50))
    if gone == "said":
        node.clocks.said("a", EVERYWHERE, b"")
    else:
        node.clocks.forget("a")
    assert node.heard[-1] == Hear(RECIPE, STREAM, (), past=1)  # its generation was read, though


def test_orders_that_start_elsewhere_are_no_matter_of_ours(node: Node) -> None:
    node.reads()
    node.clocks.said("a", EVERYWHERE, said(1, 50, stream=STREAM + 1))
    assert node.heard == [Hear(RECIPE, STREAM, (), past=1)]  # too high a number does no harm


def test_homes_are_drawn_anew_after_so_many_generations_of_any_node(node: Node) -> None:
    salts = []
    for generation in range(1, 2 * SALT_EVERY + 2):
        node.clocks.said("a", EVERYWHERE, said(generation, 0))
        salts.append(node.clocks.salt(EVERYWHERE))
    assert salts[:SALT_EVERY] == [(0, False)] * SALT_EVERY
    assert salts[SALT_EVERY : SALT_EVERY + 2] == [(1, True), (1, False)]
    assert salts[2 * SALT_EVERY] == (2, True)
    # One that lags changes nothing.
    node.clocks.said("b", EVERYWHERE, said(1, 0))
    assert node.clocks.salt(EVERYWHERE) == (2, True)


def test_what_is_not_read_here_is_not_told(node: Node) -> None:
    host: Any = Host()
    assert node.clocks.of(host) == b""


def test_generations_of_before_this_node_came_are_over(node: Node) -> None:
    """So are a few that nobody has heard of: a node says now and then how far it is."""
    node.clocks.before(EVERYWHERE, (7).to_bytes(8))
    node.reads()
    node.clocks.joined(EVERYWHERE)
    assert node.heard == [Hear(RECIPE, STREAM, (), 7 + UNSAID)]
    assert node.clocks.salt(EVERYWHERE) == (0, False)  # nothing of them is here


def test_a_node_says_for_those_who_come_which_generation_is_the_latest(node: Node) -> None:
    node.clocks.said("b", EVERYWHERE, said(300, 50))
    assert int.from_bytes(node.clocks.latest(EVERYWHERE)) == 300
    node.clocks.said("b", EVERYWHERE, b"")  # nobody reads it any more
    assert int.from_bytes(node.clocks.latest(EVERYWHERE)) == 300
    assert (255).to_bytes(8) < node.clocks.latest(EVERYWHERE)
