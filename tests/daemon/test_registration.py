"""Jobs come and go with all they bring; rows of pieces are numbered for all, and back for each."""

from typing import Any

import numpy as np
import pytest

from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.errors import BadArgument, BadMessage
from joader.messages import (
    Begin,
    Compare,
    Event,
    Inspect,
    JobSettings,
    Join,
    Leave,
    Named,
    Prepare,
    Register,
)
from joader.schedule.work.actions import Lent
from joader.wire import Allowance


def nothing(*_: Any) -> None:
    """Take note of nothing."""


class Node:
    """A registration with a real engine, and a pool on paper; `log` is all that happens."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.engine = Engine(1 << 20)
        self.tickets: dict[int, str] = {}
        as_pool: Any = self
        self.registration = Registration(self.engine, as_pool, self.tell)
        self.refuses = False

    def tell(self, event: Event) -> None:
        if self.refuses:
            raise BadArgument("the engine refuses")
        self.engine.take(event)
        self.log.append(event)

    def session(self) -> Session:
        return Session(77, nothing, nothing, Allowance(1 << 20))

    def register(self, session: Session | None = None, code: str = "code", **more: Any) -> Session:
        session = session or self.session()
        rows = np.arange(more.pop("rows", 4), dtype=np.int64)
        fresh = more.pop("fresh", False)
        join = Join(0, code, rows, rows.size, 2, fresh=fresh)
        self.registration.register(session, Register(join, JobSettings("train.py"), **more))
        return session

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.log if isinstance(event, kind)]

    # The pool.

    @property
    def dispatch(self) -> "Node":
        return self

    def knows(self, ticket: str) -> bool:
        return ticket in self.tickets.values()

    def join(self, job: int, pid: int, lent: Lent) -> None:
        self.tickets[job] = lent.ticket
        self.log.append(("joins", job, pid, lent.code))

    def leave(self, job: int) -> None:
        self.tickets.pop(job, None)
        self.log.append(("leaves", job))


@pytest.fixture
def node() -> Node:
    return Node()


def test_jobs_get_numbers_that_none_had_before(node: Node) -> None:
    first, second = node.register(), node.register()
    assert (first.job, second.job) == (1, 2)
    node.registration.leave(first)
    assert node.register().job == 3
    assert sorted(node.registration.sessions) == [2, 3]
    assert [event.job for event in node.told(Join)] == [1, 2, 3]


def test_runs_of_a_script_are_told_what_they_are_called_when_another_comes(node: Node) -> None:
    first = node.register(options=(("--lr", "--lr 0.1"),))
    assert first.label == "train.py"
    said: list[Any] = []
    first.send = lambda *messages: said.extend(messages)  # type: ignore[method-assign]
    node.register(options=(("--lr", "--lr 0.2"),))
    assert [session.label for session in node.registration.sessions.values()] == [
        *("train.py --lr 0.1", "train.py --lr 0.2")
    ]
    assert said == [Named(1, "train.py --lr 0.1")]
    node.register(options=(("--lr", "--lr 0.1"),))
    assert len(said) == 1  # nothing changed for it


def test_a_connection_serves_one_job_and_goes_on_serving_it(node: Node) -> None:
    session = node.register()
    with pytest.raises(BadMessage, match="one job"):
        node.register(session)
    assert node.registration.sessions == {1: session}
    assert node.registration.session_of(1) is session


def test_a_job_that_is_not_here_has_no_session(node: Node) -> None:
    with pytest.raises(BadMessage, match="no job 5"):
        node.registration.session_of(5)


def test_a_job_that_the_engine_refuses_leaves_nothing_behind(node: Node) -> None:
    node.refuses = True
    session = node.session()
    with pytest.raises(BadArgument):
        node.register(session, ticket="t", ground="g", pieces=(("a", 4),))
    assert node.registration.sessions == {}
    assert node.tickets == {}
    assert session.common == ""
    node.registration.leave(session)  # its connection ends
    assert node.log == [("joins", 1, 77, "code"), ("leaves", 1)]
    node.registration.pieces.forget_all_but(lambda recipe: False)
    assert len(node.registration.pieces) == 0


def test_a_job_without_workers_reads_by_itself(node: Node) -> None:
    node.register()
    node.register(ticket="t")
    assert [event.reads_itself for event in node.told(Join)] == [True, False]


def test_only_workers_that_come_for_the_first_time_are_inspected(node: Node) -> None:
    node.register(ticket="new")
    node.register(ticket="new")
    node.register(ticket="trusted", compare=False)
    node.register(code="random", ticket="random", fresh=True)
    node.register()
    assert node.told(Inspect) == [Inspect(1), Inspect(4)]


def test_figures_of_a_job_that_leaves_are_kept_and_the_engine_hears_of_it_first(node: Node) -> None:
    session = node.register(ticket="t")
    node.tell(Begin(1))
    node.engine._readers[1].delivered, node.engine._readers[1].prepared = 4, 3
    node.log.clear()
    node.registration.leave(session)
    assert node.log == [Leave(1), ("leaves", 1)]
    past = node.registration.past
    assert (past.delivered, past.prepared, past.hits, past.shared) == (4, 3, 1, 0)
    node.registration.leave(session)
    assert node.registration.past == past


def test_the_engine_is_not_told_of_a_job_that_it_has_refused(node: Node) -> None:
    session = node.register(ticket="t")
    assert node.registration.remove(1) is session
    assert node.registration.remove(1) is None
    node.registration.leave(session)
    assert node.told(Leave) == []
    assert node.tickets == {}


# Pieces.

A, B, C = ("a", 3), ("b", 2), ("c", 4)


def prepare(recipe: str, job: int, *rows: int) -> Prepare:
    return Prepare(
        recipe,
        job,
        key=7,
        samples=tuple(100 + row for row in rows),
        rows=rows,
        positions=rows,
        times=(0,) * len(rows),
        offsets=(0,) * len(rows),
        sizes=(64,) * len(rows),
    )


def two_datasets(node: Node) -> tuple[str, Session, Session]:
    """Register a folder (a, b) and another (b, c); return their recipe, and the sessions."""
    one = node.register(code="one", ground="g", pieces=(A, B), rows=5)
    other = node.register(code="other", ground="g", pieces=(B, C), rows=6)
    assert one.common == other.common != ""
    return one.common, one, other


def test_datasets_with_a_piece_in_common_agree_on_its_rows(node: Node) -> None:
    two_datasets(node)
    first, second = node.told(Join)
    assert first.recipe == second.recipe
    assert first.rows.tolist() == [0, 1, 2, 3, 4]
    assert second.rows.tolist() == [3, 4, 5, 6, 7, 8]


def test_a_row_is_prepared_by_its_jobs_own_code_if_that_has_it(node: Node) -> None:
    recipe, one, other = two_datasets(node)
    ((own, code),) = node.registration.by_code(prepare(recipe, other.job or 0, 3, 4, 5))
    assert (code, own.rows, own.samples) == ("other", (0, 1, 2), (103, 104, 105))
    ((own, code),) = node.registration.by_code(prepare(recipe, one.job or 0, 3, 4))
    assert (code, own.rows) == ("one", (3, 4))


def test_rows_that_it_does_not_have_are_prepared_by_who_has_them(node: Node) -> None:
    recipe, one, _ = two_datasets(node)
    parts = list(node.registration.by_code(prepare(recipe, one.job or 0, 2, 8, 3, 5)))
    assert [(code, order.rows, order.samples) for order, code in parts] == [
        ("one", (2, 3), (102, 103)),
        ("other", (5, 2), (108, 105)),
    ]


def test_a_row_of_a_dataset_that_has_left_is_nobodys(node: Node) -> None:
    recipe, one, other = two_datasets(node)
    node.registration.leave(other)
    parts = list(node.registration.by_code(prepare(recipe, one.job or 0, 3, 8)))
    assert [(code, order.samples) for order, code in parts] == [("one", (103,)), ("", (108,))]


def test_a_recipe_without_pieces_is_its_own_code(node: Node) -> None:
    session = node.register(code="whole")
    order = prepare("whole", session.job or 0, 1, 2)
    assert list(node.registration.by_code(order)) == [(order, "whole")]


def test_a_comparison_is_by_the_rows_of_its_job_or_not_at_all(node: Node) -> None:
    recipe, _, other = two_datasets(node)
    job = other.job or 0
    own = node.registration.for_its_job(Compare(job, 104, recipe, 4, 0))
    assert own is not None
    assert own.row == 1
    assert node.registration.for_its_job(Compare(job, 100, recipe, 0, 0)) is None
