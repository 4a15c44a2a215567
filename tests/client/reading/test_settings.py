"""What a loader was made with, as far as its job depends on it."""

from types import SimpleNamespace
from typing import Any

import pytest

from joader.client.order.ordering import Ordering
from joader.client.ranks import Rank
from joader.client.reading.settings import Settings, settings_of
from joader.images import Steps
from joader.messages import JobSettings

GIVEN: dict[str, Any] = {
    "for_the_daemon": lambda streams: JobSettings("train.py", locality=streams),
    "key": None,
    "worker_init_fn": None,
    "deterministic": False,
    "drop_last": True,
    "num_workers": None,
    "fallback": True,
    "multiprocessing_context": None,
    "seed": 9,
}


def settings(rank: Rank | None = None, num_workers: Any = None, **order: Any) -> Settings:
    usual: dict[str, Any] = {"order": "shared", "shuffle": True, "by_sampler": False, "seed": 4}
    usual |= {"batch_size": 2, "drop_last": True, "rank": rank}
    given: Any = SimpleNamespace(**(GIVEN | {"num_workers": num_workers}))
    return settings_of(given, Ordering(**(usual | order)), (Steps([abs]), Steps([])))


def test_steps_seed_and_names_are_those_that_were_given() -> None:
    found = settings()
    assert (found.job.name, found.seed, found.drop_last) == ("train.py", 9, True)
    assert settings(order="seeded").seed == 4  # which may be that of a generator
    assert (len(found.prepare.steps), len(found.transform.steps)) == (1, 0)


def test_each_loader_reads_for_itself_and_ranks_for_their_team() -> None:
    assert settings().whose != settings().whose
    assert (
        settings(Rank("team", 0, 2, "start")).whose
        == settings(Rank("team", 1, 2, "start")).whose
        == "team"
    )


@pytest.mark.parametrize(
    ("order", "private"),
    [
        ({}, False),
        ({"order": "seeded"}, False),  # the daemon draws, and keeps it so
        ({"order": "seeded", "by_sampler": True}, True),
        ({"order": "seeded", "shuffle": False}, True),
        ({"by_sampler": True}, False),
    ],
)
def test_random_samples_of_a_seed_are_its_alone(order: dict[str, Any], private: bool) -> None:
    assert settings(**order).private is private


def test_workers_are_a_plain_number_or_left_to_joader() -> None:
    assert settings().num_workers is None
    assert type(settings(num_workers=True).num_workers) is int
