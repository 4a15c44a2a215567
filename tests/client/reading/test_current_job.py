"""What a loader keeps between its passes, and when it becomes another job."""

import logging
from typing import Any

import pytest

from joader.client.ranks import Rank
from joader.client.reading.current_job import CurrentJob
from joader.client.reading.job import Job
from joader.client.reading.settings import Settings
from joader.errors import NoDaemon
from joader.images import Steps
from joader.recipe.watch import MANY, SLOW_S, AtHand, KeepsState


class Numbers:
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> int:
        return row


class Kept:
    """Stands for a connection of this process."""

    usable_here = True
    closed = False

    def close(self) -> None:
        self.closed = True


def current(*, fallback: bool = True, **changes: Any) -> CurrentJob:
    usual: dict[str, Any] = {"name": "job", "prepare": Steps([]), "transform": Steps([])}
    usual |= {"deterministic": False, "private": False, "drop_last": False, "lend": True}
    usual |= {"seed": 0, "whose": "1", "num_workers": 2}
    usual |= dict.fromkeys(["key", "worker_init_fn", "rank", "context"])
    return CurrentJob(Settings(**(usual | changes)), fallback=fallback)


def seen(its: CurrentJob, dataset: Any) -> Job:
    return its.sight(dataset, "shared", 4).job


def keep(its: CurrentJob, job: Job) -> Kept:
    connection = Kept()
    its.keep(connection, job)  # type: ignore[arg-type]
    return connection


def look_again(its: CurrentJob, dataset: Any) -> Any:
    return its.look_again(dataset, "shared", 4, persistent=False)


def test_a_dataset_that_is_the_same_keeps_job_and_connection() -> None:
    its, dataset = current(), Numbers(10)
    job = seen(its, dataset)
    connection = keep(its, job)
    assert look_again(its, dataset) is None
    assert seen(its, dataset) is job
    assert its.free_connection(None) is connection
    assert its.free_connection(None) is None


def test_a_dataset_that_has_changed_is_another_job_and_its_connection_is_left() -> None:
    its, dataset = current(), Numbers(10)
    job = seen(its, dataset)
    connection = keep(its, job)
    dataset.length = 11
    assert look_again(its, dataset) is connection
    assert not connection.closed  # only when the next is registered
    assert seen(its, dataset) is not job
    assert its.free_connection(None) is None
    assert keep(its, job).closed


def test_of_two_connections_one_is_kept() -> None:
    its = current()
    job = seen(its, Numbers(10))
    assert not keep(its, job).closed
    assert keep(its, job).closed


def test_a_rank_takes_over_from_its_latest_pass() -> None:
    class Latest:
        def hand_over(self) -> Any:
            return connection

    connection = Kept()
    assert current(rank=Rank("team", 0, 2, "start")).free_connection(Latest()) is connection
    assert current().free_connection(Latest()) is None
    connection.usable_here = False
    assert current(rank=Rank("team", 0, 2, "start")).free_connection(Latest()) is None


def test_other_workers_make_another_job() -> None:
    its = current()
    connection = keep(its, seen(its, Numbers(10)))
    its.bring(3, None)
    assert connection.closed
    lending = seen(its, Numbers(10)).lending
    assert lending is not None
    assert lending.workers == 3


def test_a_dataset_that_keeps_state_gets_no_workers_whatever_is_set_later() -> None:
    its = current(num_workers=None)
    seen(its, Numbers(10))
    assert its.without_workers(KeepsState).lending is None
    its.bring(3, None)
    assert seen(its, Numbers(10)).lending is None
    assert seen(its.copied(None), Numbers(10)).lending is None


def test_a_dataset_whose_rows_are_at_hand_gets_workers_if_they_are_asked_for() -> None:
    its = current(num_workers=None)
    assert seen(its, Numbers(10)).lending is not None
    assert its.without_workers(AtHand).lending is None
    assert seen(its.copied(None), Numbers(10)).lending is None
    its.bring(3, None)
    assert seen(its, Numbers(10)).lending is not None


def test_rows_that_take_long_after_all_are_read_by_workers_again_and_watched_no_more() -> None:
    its = current(num_workers=None)
    seen(its, Numbers(10))
    assert its.without_workers(AtHand).lending is None
    its.note_read_here(MANY, MANY * SLOW_S / 2)
    assert seen(its, Numbers(10)).lending is None
    its.note_read_here(10, MANY * SLOW_S)
    lending = seen(its, Numbers(10)).lending
    assert lending is not None
    assert not lending.watched


def test_a_job_that_is_to_share_nothing_gets_a_recipe_of_its_own() -> None:
    its = current()
    assert not seen(its, Numbers(10)).private
    assert its.in_private(3).private
    assert seen(its, Numbers(10)).private


def test_without_a_daemon_the_job_goes_on_unless_it_may_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = NoDaemon("no daemon listens\nat all")
    its = current()
    with caplog.at_level(logging.WARNING, "joader"):
        assert its.alone(error, seen(its, Numbers(10))).usable_here
    assert "loads by itself, as torch's loader would: no daemon listens. No row" in caplog.text
    for other in (current(fallback=False), current(rank=Rank("team", 0, 2, "start"))):
        with pytest.raises(NoDaemon):
            other.alone(error, seen(other, Numbers(10)))


def test_what_cannot_be_compared_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    class Opaque(Numbers):
        def __init__(self) -> None:
            super().__init__(3)
            self.held = memoryview(b"")

    its = current()
    seen(its, Opaque())
    for one in (its, its, its.copied(None)):
        one.say_if_opaque()
    assert caplog.text.count("this dataset is not shared with other jobs") == 1
