"""Who says what comes next, by the arguments of a loader."""

from typing import Any

import pytest

from joader.client.order.ordering import SINGLES, Ordering
from joader.client.order.progress import Progress
from joader.client.order.source import Drawn, Told
from joader.client.ranks import Rank


def ordering(**changes: Any) -> Ordering:
    usual: dict[str, Any] = {"order": "shared", "shuffle": True, "by_sampler": False, "seed": 0}
    usual |= {"batch_size": 4, "drop_last": False, "sampler": [2, 0, 1], "batch_sampler": "ours"}
    return Ordering(**(usual | changes))


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "shared"),
        ({"order": "seeded"}, "seeded"),
        ({"shuffle": False}, "given"),
        ({"shuffle": False, "order": "seeded"}, "given"),
        ({"by_sampler": True}, "told"),
        ({"replaced": True}, "told"),
    ],
)
def test_the_daemon_knows_an_order_by_who_gives_it(changes: dict[str, Any], name: str) -> None:
    assert ordering(**changes).name == name


def test_a_replaced_batch_sampler_changes_the_order_and_not_what_the_loader_was_made_with() -> None:
    made = ordering(order="seeded")
    now = made.now(sampler=[0], batch_sampler=[[1]], generator=None, replaced=True)
    assert (now.name, now.given_name, made.name) == ("told", "seeded", "seeded")


@pytest.mark.parametrize(
    ("changes", "batches"),
    [
        ({}, 3),
        ({"drop_last": True}, 2),
        ({"batch_size": None, "batch_sampler": None}, 10),
        ({"rank": Rank("team", 0, 2, "start")}, 2),
        ({"rank": Rank("team", 0, 2, "start"), "drop_last": True}, 1),
        ({"by_sampler": True, "batch_sampler": [[1], [2]]}, 2),
        ({"by_sampler": True, "batch_size": None, "batch_sampler": None}, 3),
    ],
)
def test_batches_of_a_pass_over_ten_rows_are_counted(changes: dict[str, Any], batches: int) -> None:
    assert ordering(**changes).batches(10) == batches


def test_samples_one_by_one_are_asked_for_many_at_a_time() -> None:
    singly = ordering(batch_size=None, batch_sampler=None)
    assert singly.singly
    assert singly.ahead(4) > ordering().ahead(4) == ordering().ahead(0)
    assert [ordering(by_sampler=True).ahead(count) for count in (0, 2, 16)] == [0, 2, 16]
    assert ordering().ahead(0, alone=True) > ordering().ahead(0)
    assert ordering(by_sampler=True).ahead(0, alone=True) == 0
    assert (singly.most_at_once(100), singly.most_at_once(3)) == (SINGLES, 3)
    assert ordering(rank=Rank("team", 0, 2, "start")).most_at_once(3) == 4


def test_our_own_batch_sampler_is_read_by_its_sampler_and_anothers_by_batches() -> None:
    theirs = {"batch_size": None, "batch_sampler": [[1, 2]]}
    assert ordering(by_sampler=True).told_order(3).unit == "positions"
    assert ordering(by_sampler=True, **theirs).told_order(3).unit == "batches"
    assert ordering(replaced=True, batch_sampler=[[1]]).told_order(3).unit == "batches"


def test_a_pass_has_the_new_key_unless_it_goes_on() -> None:
    assert ordering().source(Progress(3, 0), 5, None).begin(1).key == 5
    assert ordering().source(Progress(3, 0, 9), 5, None).begin(1).key == 9
    told = ordering(by_sampler=True).source(Progress(3, 0), 5, None)
    assert isinstance(told, Told)
    assert told.begin(1).key == 5


def test_the_key_of_a_rank_waits_for_the_plan() -> None:
    progress = Progress(8, 0)
    source = ordering(rank=Rank("team", 1, 2, "start")).source(progress, 5, None)
    assert isinstance(source, Drawn)
    assert (source.begin(1).key, progress.key) == (5, 0)


def test_a_loader_says_who_gives_its_order() -> None:
    assert ordering().in_words() == "order='shared'"
    assert ordering(shuffle=False).in_words() == "in the order of the dataset"
    assert ordering(by_sampler=True).in_words() == "in the order of list"
    theirs = ordering(by_sampler=True, batch_size=None, batch_sampler=iter([]))
    assert theirs.in_words() == "in the order of list_iterator"
