"""Who draws for whom over nodes, on paper: real engines, and lines that a test carries."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from joader.daemon import joint as joint_module
from joader.daemon.joint import Joint
from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.messages import Begin, Drew, Event, JobSettings, Join, Prepare, Register, Sized, Want
from joader.messages import nodes as words
from joader.messages.ranks import OnLine
from joader.wire import Allowance, Stream, frame

ROWS, BATCH = 400, 8


def nothing(*_: Any) -> None:
    """Take note of nothing."""


class Net:
    """All that is on its way, between nodes that know each other."""

    def __init__(self) -> None:
        self.mail: deque[Callable[[], None]] = deque()
        self.nodes: dict[str, Node] = {}
        self.down: set[str] = set()  # nodes that are not reached

    def settle(self) -> None:
        for node in self.nodes.values():
            for other in self.nodes.values():
                if other is not node and other.name not in self.down:
                    node.joint.said(other.name, other.joint.can_draw())
        for _ in range(3):
            for node in self.nodes.values():
                node.joint.settle()
                node.do()
            while self.mail:
                self.mail.popleft()()
                for node in self.nodes.values():
                    node.do()


class Line:
    """One end of a line."""

    def __init__(self, net: Net, node: words.Node) -> None:
        self.net, self.node = net, node
        self.deliver: Callable[[Any], None] = nothing

    def send(self, message: Any) -> None:
        travels: Stream[OnLine] = Stream(OnLine)  # as on a real line, so that it is known there
        (heard,) = travels.feed(frame(message))
        self.net.mail.append(lambda: self.deliver(heard))


class FakeLines:
    """Lines to other nodes of the net."""

    net: Net

    def __init__(self, node: words.Node, _: bytes, __: str, hear: Any, lost: Any) -> None:
        self.node, self.hear, self.lost = node, hear, lost
        self.lines: dict[str, tuple[Line, Line]] = {}

    def to(self, node: words.Node) -> Line | None:
        if {node.name, self.node.name} & self.net.down:
            return None
        if node.name not in self.lines:
            mine, its = Line(self.net, node), Line(self.net, self.node)
            other = self.net.nodes[node.name].joint
            mine.deliver = lambda message: other._from_node(its, message)  # type: ignore[arg-type]
            its.deliver = lambda message: self.hear(mine, message)
            self.lines[node.name] = mine, its
        return self.lines[node.name][0]

    def cut(self, name: str) -> None:
        mine, its = self.lines.pop(name)
        mine.deliver = its.deliver = nothing
        self.lost(mine, "cut")
        self.net.nodes[name].joint._node_lost(its, "cut")  # type: ignore[arg-type]

    def close(self) -> None:
        """Be closed."""


class Node:
    """A node; its workers never prepare anything, they only say how large a row is."""

    def __init__(self, net: Net, name: str) -> None:
        self.net, self.name = net, name
        self.engine = Engine(1 << 20, seed=len(net.nodes))
        pool: Any = self
        self.registration = Registration(self.engine, pool, self.tell)
        self.registration.stream_of = lambda recipe: 7
        self.different: set[str] = set()
        self.got: list[int] = []
        self.joint = Joint(
            *(words.Node(name, "", 0), b""),
            engine=self.engine,
            registration=self.registration,
            tell=self.tell,
            differs=lambda recipe, node: node in self.different,
        )
        net.nodes[name] = self

    @property
    def lines(self) -> FakeLines:
        lines: Any = self.joint._lines
        return lines  # type: ignore[no-any-return]

    def tell(self, event: Event) -> None:
        self.engine.take(event)
        if isinstance(event, Drew):
            self.got += event.numbers.tolist()

    def do(self) -> None:
        for one in self.engine.say():
            if isinstance(one, Drew):
                session = self.registration.sessions[one.job]
                session.send(msgspec.structs.replace(one, number=session.number))
            elif isinstance(one, Prepare) and -1 in one.offsets:
                self.engine.take(Sized(one.samples, (64,) * len(one.samples)))

    def job(self, **more: Any) -> Session:
        session = Session(77, nothing, nothing, Allowance(1 << 20))
        session.tell = self.tell
        rows = np.arange(ROWS, dtype=np.int64)
        join = Join(0, f"photos on {self.name}", rows, ROWS, BATCH, order="joint", stream=7)
        settings = JobSettings("train.py")
        ticket = f"of {self.name}"
        message = Register(join, settings, ticket=ticket, everywhere="photos")
        message = msgspec.structs.replace(message, **more)
        self.joint.take(session, message)
        self.registration.register(session, message)
        return session

    def begin(self, session: Session, wants: int = 0) -> None:
        session.tell(Begin(session.job or 0, key=3))
        for _ in range(wants):
            session.tell(Want(session.job or 0, BATCH))
        self.do()

    def drawer(self) -> str:
        return self.joint._jobs[0].drawer

    # The pool.

    @property
    def dispatch(self) -> "Node":
        return self

    def knows(self, _: str) -> bool:
        return True

    def join(self, *_: Any) -> None:
        """Take note of nothing."""

    leave = join


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Net:
    net = Net()
    monkeypatch.setattr(joint_module, "Lines", FakeLines)
    monkeypatch.setattr(joint_module, "_SETTLED_S", 0.0)
    FakeLines.net = net
    return net


def played(net: Net, names: str, play: Callable[[], None]) -> None:
    async def main() -> None:
        for name in names:
            Node(net, name)
        for node in net.nodes.values():
            node.joint.members_changed([words.Node(name, "", 0) for name in names])
        play()

    asyncio.run(main())


def test_the_node_that_came_first_draws_for_all(net: Net) -> None:
    def play() -> None:
        for name in "abc":
            node = net.nodes[name]
            node.begin(node.job(), wants=2)
        net.settle()
        assert [net.nodes[name].drawer() for name in "abc"] == ["", "a", "a"]
        b, c = net.nodes["b"], net.nodes["c"]
        assert len(b.got) == len(set(b.got)) > 2 * BATCH
        # What b got before c was there was drawn for it alone; then rounds are common, but for
        # those in which c draws one of the rows that b has read.
        common = b.got[-len(c.got) :]
        assert sum(one == other for one, other in zip(common, c.got, strict=True)) > len(common) / 2

    played(net, "abc", play)


def test_who_draws_already_goes_on_when_one_comes_that_was_there_before(net: Net) -> None:
    def play() -> None:
        for name in "bc":
            net.nodes[name].begin(net.nodes[name].job())
        net.settle()
        net.nodes["a"].begin(net.nodes["a"].job())
        net.settle()
        assert [net.nodes[name].drawer() for name in "abc"] == ["b", "", "b"]

    played(net, "abc", play)


def test_a_node_that_is_lost_is_done_without_and_met_again(net: Net) -> None:
    def play() -> None:
        a, b = net.nodes["a"], net.nodes["b"]
        a.begin(a.job())
        session = b.job()
        b.begin(session)
        net.settle()
        assert b.drawer() == "a"
        assert a.registration.plans_for_others
        net.down.add("a")
        b.lines.cut("a")
        assert b.drawer() == ""
        assert not a.registration.plans_for_others
        assert not b.engine.couplings.awaited(session.job or 0).size
        net.down.clear()
        net.settle()
        assert b.drawer() == "a"  # in the same pass
        assert not set(b.got) - set(range(ROWS))

    played(net, "ab", play)


def test_a_job_that_leaves_is_drawn_for_no_more(net: Net) -> None:
    def play() -> None:
        a, b = net.nodes["a"], net.nodes["b"]
        a.begin(a.job())
        session = b.job()
        b.begin(session)
        net.settle()
        assert a.registration.plans_for_others
        b.registration.leave(session)
        net.settle()
        assert not a.registration.plans_for_others

    played(net, "ab", play)


def test_the_next_pass_is_drawn_where_most_are_and_the_last_one_is_let_go(net: Net) -> None:
    def play() -> None:
        a, b, c = net.nodes.values()
        sessions = {node: node.job() for node in (b, c)}
        for node, session in sessions.items():
            node.begin(session)
        net.settle()
        assert c.drawer() == "b"
        a.begin(a.job())
        c.joint._differs = lambda recipe, node: node == "b"
        c.begin(sessions[c])
        net.settle()
        assert c.drawer() == "a"
        assert not any(one.name.endswith("node c") for one in b.registration.sessions.values())

    played(net, "abc", play)


def test_nodes_with_different_data_draw_apart(net: Net) -> None:
    def play() -> None:
        a, b = net.nodes["a"], net.nodes["b"]
        a.begin(a.job())
        b.begin(b.job())
        net.settle()
        assert b.drawer() == "a"
        b.different = {"a"}  # it is found out in the middle of a pass
        net.settle()
        net.settle()
        assert b.drawer() == ""

    played(net, "ab", play)


def test_a_drawer_that_says_nothing_is_left(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_module, "PATIENCE_S", 0.0)

    def play() -> None:
        a, b = net.nodes["a"], net.nodes["b"]
        a.begin(a.job())
        a.do = nothing  # type: ignore[method-assign]
        session = b.job()
        b.begin(session, wants=1)
        net.settle()
        b.joint.settle()
        assert b.drawer() == ""
        net.settle()
        assert b.drawer() == ""  # it is not asked at once again
        b.do()
        assert b.engine.couplings.undrawn(session.job or 0) < ROWS

    played(net, "ab", play)


def test_a_drawer_that_ends_lets_jobs_draw_alone(net: Net) -> None:
    def play() -> None:
        a, b = net.nodes["a"], net.nodes["b"]
        a.begin(a.job())
        b.begin(b.job())
        net.settle()
        for session in list(a.registration.sessions.values()):
            if session.remote:
                session.end()
        net.settle()
        assert b.drawer() == ""
        assert not a.registration.plans_for_others

    played(net, "ab", play)


@pytest.mark.parametrize(
    "more",
    [
        {"everywhere": ""},
        {"ticket": ""},
        {"pieces": (("shard", ROWS),), "ground": "jpegs"},
    ],
    ids=["of this machine", "without workers", "made of pieces"],
)
def test_jobs_that_cannot_share_over_nodes_are_left_alone(net: Net, more: dict[str, Any]) -> None:
    def play() -> None:
        a, b = net.nodes["a"], net.nodes["b"]
        a.begin(a.job())
        b.begin(b.job(**more))
        net.settle()
        assert not b.joint._jobs
        assert not a.registration.plans_for_others

    played(net, "ab", play)
