"""A daemon that is to end lets nobody in, and ends when its jobs have what they asked for."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from joader.daemon import daemon as drain
from joader.daemon.daemon import Drain


class Door:
    """A door that counts how often it was hidden."""

    hidden = 0

    def hide(self) -> None:
        self.hidden += 1


class Session:
    """A job's session, which leaves when it ends."""

    def __init__(self, house: "House", job: int, owed: int) -> None:
        self.house, self.job, self.owed = house, job, owed
        self.elsewhere = False

    def end(self) -> None:
        self.house.ended.append((self.job, self.house.stop.is_set()))
        del self.house.sessions[self.job]


class House:
    """What a drain looks at: sessions, who holds samples, who has workers."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.sessions: dict[int, Any] = {}
        self.holding: set[int] = set()
        self.with_workers: set[int] = set()
        self.ended: list[tuple[int, bool]] = []  # jobs, and whether the daemon had stopped
        self.door: Any = Door()
        as_any: Any = self
        self.handed_over: list[Callable[[], None]] = []
        self.drain = Drain(as_any, as_any, self.sessions, self.stop, self.hand_over)
        self.in_cluster = False

    def job(self, job: int, owed: int = 0, holds: bool = False, workers: bool = True) -> Session:
        session = self.sessions[job] = Session(self, job, owed)
        self.holding |= {job} if holds else set()
        self.with_workers |= {job} if workers else set()
        return session

    def hand_over(self, done: Callable[[], None]) -> None:
        if self.in_cluster:
            self.handed_over.append(done)
        else:
            done()

    # Engine and pool.

    def holds(self, job: int) -> bool:
        return job in self.holding

    def has_workers(self, job: int) -> bool:
        return job in self.with_workers


def in_a_loop(test: Callable[[House], None]) -> None:
    async def main() -> None:
        test(House())

    asyncio.run(main())


def test_without_jobs_it_ends_at_once_behind_a_hidden_door() -> None:
    def test(house: House) -> None:
        house.drain.begin(house.door)
        assert house.door.hidden == 1
        assert house.stop.is_set()

    in_a_loop(test)


def test_before_it_has_begun_no_session_ends() -> None:
    def test(house: House) -> None:
        session: Any = house.job(1)
        house.drain.end_if_done(session)
        house.drain.stop_if_empty()
        assert house.ended == []
        assert not house.stop.is_set()

    in_a_loop(test)


def test_who_asks_for_nothing_ends_and_who_holds_a_sample_stays() -> None:
    def test(house: House) -> None:
        house.job(1)
        house.job(2, holds=True)
        house.drain.begin(house.door)
        assert house.ended == [(1, False)]
        assert not house.stop.is_set()
        house.holding.clear()
        house.drain.end_those_done()
        assert house.ended == [(1, False), (2, False)]
        house.drain.stop_if_empty()
        assert house.stop.is_set()

    in_a_loop(test)


def test_a_batch_is_waited_for_only_while_workers_are_here_that_can_prepare_it() -> None:
    def test(house: House) -> None:
        house.job(1, owed=1)
        house.job(2, owed=1, workers=False)
        house.drain.begin(house.door)
        assert house.ended == [(2, False)]
        house.sessions[1].owed = 0
        house.drain.end_those_done()
        assert [job for job, _ in house.ended] == [2, 1]

    in_a_loop(test)


def test_a_client_without_a_job_does_not_end() -> None:
    def test(house: House) -> None:
        house.drain.begun = True
        session: Any = Session(house, 1, 0)
        session.job = None
        house.drain.end_if_done(session)
        assert house.ended == []

    in_a_loop(test)


def test_it_stays_until_others_have_what_only_it_has() -> None:
    def test(house: House) -> None:
        house.in_cluster = True
        house.job(1)
        house.job(2).elsewhere = True  # a node that fetches from here
        house.drain.begin(house.door)
        house.drain.stop_if_empty()
        assert [job for job, _ in house.ended] == [1]
        assert not house.stop.is_set()
        house.handed_over[0]()
        assert [job for job, _ in house.ended] == [1, 2]
        assert house.stop.is_set()

    in_a_loop(test)


def test_a_node_that_fetches_is_not_waited_for_once_all_is_handed_over() -> None:
    def test(house: House) -> None:
        house.job(1, holds=True).elsewhere = True
        house.drain.begin(house.door)
        assert house.stop.is_set()

    in_a_loop(test)


def test_it_ends_after_a_while_whoever_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "DRAIN_S", 0.0)

    async def main() -> None:
        house = House()
        house.job(1, owed=1, holds=True)
        house.drain.begin(house.door)
        house.drain.begin(house.door)  # a second SIGTERM
        assert house.ended == []
        await asyncio.wait_for(house.stop.wait(), 10)
        # Nothing may be written from the moment on at which the first of them ends.
        assert house.ended == [(1, True)]

    asyncio.run(main())
