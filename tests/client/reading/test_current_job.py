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
from joader.messages import JobSettings
from joader.recipe.watch import FIRST, MANY, SLOW_S, AtHand, KeepsState


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


def current(**changes: Any) -> CurrentJob:
    usual: dict[str, Any] = {"prepare": Steps([]), "transform": Steps([])}
    usual |= {"job": JobSettings("job"), "deterministic": False, "private": False}
    usual |= {"drop_last": False, "seed": 0, "whose": "1", "num_workers": 2}
    usual |= dict.fromkeys(["key", "worker_init_fn", "rank", "context"])
    return CurrentJob(Settings(**(usual | changes)))


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
    job = its.without_workers(AtHand)
    assert job.lending is None
    its.note_read_here([SLOW_S / 2] * MANY, drew=None)
    assert seen(its, Numbers(10)).lending is None
    assert not its.asks_after_all(job)
    its.note_read_here([2 * SLOW_S] * MANY, drew=None)
    assert its.asks_after_all(job)
    lending = its.that_asks().lending
    assert lending is not None
    assert not lending.watched


class Quick(Numbers):
    """A class of its own: what is known of it are these tests' findings."""


class Slow(Quick):
    pass


@pytest.mark.parametrize("num_workers", [None, 0])
def test_what_a_loader_has_found_out_is_known_to_the_next_of_a_dataset_alike(
    num_workers: int | None,
) -> None:
    its = current(num_workers=None)
    seen(its, Quick(10))
    its.without_workers(AtHand)
    assert seen(current(num_workers=num_workers), Quick(20)).at_hand
    assert not seen(current(num_workers=num_workers), Slow(10)).at_hand
    assert not seen(current(num_workers=2), Quick(20)).at_hand
    for other in (
        {"fallback": False},
        {"prepare": Steps([abs])},
        {"rank": Rank("team", 0, 2, "start")},
    ):
        assert not seen(current(num_workers=num_workers, **other), Quick(20)).at_hand


def test_a_dataset_that_changes_itself_is_known_to_the_next_loader() -> None:
    its = current(num_workers=None)
    seen(its, Quick(10))
    its.without_workers(KeepsState)
    job = seen(current(num_workers=None), Quick(20))
    assert job.lending is None
    assert not job.at_hand  # how long its rows take is not known
    assert seen(current(num_workers=None, deterministic=True), Quick(20)).lending is not None
    assert seen(current(num_workers=3), Quick(20)).lending is not None


def test_rows_that_the_job_reads_itself_are_found_to_be_at_hand_there() -> None:
    its = current(num_workers=0)
    job = seen(its, Quick(10))
    assert its.watch_here()
    its.note_read_here([1e-6] * 4, drew=False)
    assert seen(its, Quick(10)) is job
    its.note_read_here([1e-6] * 5, drew=False)
    assert seen(its, Quick(10)).at_hand
    assert not its.watch_here()
    assert seen(current(num_workers=None), Quick(10)).at_hand


@pytest.mark.parametrize(("took_s", "drew"), [(0.001, False), (1e-6, True)])
def test_rows_that_take_longer_or_draw_random_numbers_are_not(took_s: float, drew: bool) -> None:
    its = current(num_workers=0)
    seen(its, Quick(10))
    assert its.watch_here()
    its.note_read_here([took_s] * FIRST, drew=drew)
    assert not its.watch_here()
    assert not seen(current(num_workers=0), Quick(10)).at_hand


def test_a_kind_of_rows_that_was_quick_and_then_slow_is_not_believed_again() -> None:
    for _ in range(2):
        its = current(num_workers=None)
        seen(its, Quick(10))
        its.without_workers(AtHand)
        its.note_read_here([2 * SLOW_S] * MANY, drew=None)
        assert not seen(current(num_workers=None), Quick(10)).at_hand


def test_rows_at_hand_are_looked_at_when_a_state_asks_and_read_as_they_are_now() -> None:
    its, dataset = current(num_workers=0, at_hand=True), Numbers(10)
    sight = its.sight(dataset, "shared", 4)
    assert sight.job.recipe == ""
    named = current(num_workers=0).sight(dataset, "shared", 4).identity
    assert sight.identity.state() == named.state()
    dataset.length = 12
    assert look_again(its, dataset) is None
    assert len(seen(its, dataset).rows) == 12


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
