"""A daemon in no cluster: it takes ranks that are all here, and refuses others with the reason."""

import asyncio
from typing import Any

import numpy as np
import pytest

from joader.daemon import alone as alone_module
from joader.daemon.alone import Alone
from joader.errors import BadArgument
from joader.messages import JobSettings, Join, Place, Prepare, Register


class Session:
    """A rank's connection."""

    def __init__(self) -> None:
        self.has_ended, self.refused = False, asyncio.Event()
        self.reason = ""

    def refuse(self, reason: str) -> None:
        self.reason = reason
        self.refused.set()


def rank(here: int, world_size: int = 4, team: str = "team", timeout_s: float = 120.0) -> Register:
    rows = np.arange(8)
    join = Join(1, "r", rows, 8, 2, team=team, world_size=world_size, ranks_here=here)
    return Register(join, JobSettings("train.py", timeout_s=timeout_s))


def taken(alone: Alone, session: Any, message: Register) -> bool:
    return alone.take_rank(session, message)


def test_ranks_that_are_all_here_and_single_jobs_register() -> None:
    alone = Alone(lambda *_: None)
    assert taken(alone, None, rank(here=4))
    assert taken(alone, None, rank(here=0))  # it does not say how many
    assert taken(alone, None, rank(here=1, world_size=1, team=""))


def test_ranks_that_are_elsewhere_too_are_refused_with_what_to_do() -> None:
    with pytest.raises(BadArgument, match=r"has 4 ranks, 2 of them on this node.*joader up"):
        taken(Alone(lambda *_: None), None, rank(here=2))


def test_ranks_wait_for_a_cluster_that_is_on_its_way() -> None:
    async def main() -> None:
        again: list[Any] = []
        alone = Alone(lambda session, message: again.append((session, message)))
        alone.joining = True
        stays, leaves, message = Session(), Session(), rank(here=2)
        assert not taken(alone, stays, message)
        assert not taken(alone, leaves, message)
        assert taken(alone, Session(), rank(here=4))  # all are here: no cluster is needed
        leaves.has_ended = True
        alone.end()
        assert again == [(stays, message)]
        alone.end()
        assert len(again) == 1

    asyncio.run(main())


def test_a_cluster_that_does_not_come_is_waited_for_in_vain_only_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(alone_module, "_JOINING_S", 0.01)

    async def main() -> None:
        again: list[Any] = []
        alone = Alone(lambda session, message: again.append(session))
        alone.joining = True
        session = Session()
        taken(alone, session, rank(here=2))
        await asyncio.wait_for(session.refused.wait(), 60.0)
        assert "cannot reach the cluster" in session.reason
        alone.end()
        assert again == []

    asyncio.run(main())


def test_everything_is_done_here() -> None:
    alone = Alone(lambda *_: None)
    order = Prepare("r", 1, 1, (1,), (1,), (1,), (0,), (-1,), (0,))
    place = Place((1,), (0,), (64,))
    assert alone.take(order, "code") is order
    assert alone.place(place) is place
    done: list[None] = []
    alone.hand_over(lambda: done.append(None))
    assert done == [None]
