"""Who is in which team, as far as teams differ; what a team plans is in test_team.py."""

import numpy as np
import pytest

from joader.engine.teams import FIRST_LEAD, Teams
from joader.errors import BadArgument
from joader.messages import Job, Join
from tests.engine.shelf import Shelf


class Ranks:
    """Teams whose ranks and leads are readers of one shelf."""

    def __init__(self) -> None:
        self.shelf, self.teams, self.leads = Shelf(64), Teams(), list[Job]()

    def join(self, job: Job, rank: int, team: str = "t", of: int = 2, **more: object) -> None:
        rows = np.arange(20)
        event = Join(
            *(job, "code", rows, rows.size, 1), team=team, rank=rank, world_size=of, **more
        )  # type: ignore[arg-type]
        self.teams.join(event, self.shelf.reader(job), self.make_lead)

    def make_lead(self, job: Job):  # type: ignore[no-untyped-def]
        self.leads.append(job)
        return self.shelf.reader(job)


@pytest.fixture
def ranks() -> Ranks:
    return Ranks()


def test_the_first_rank_makes_the_team_and_the_last_takes_it_along(ranks: Ranks) -> None:
    ranks.join(1, 0)
    ranks.join(2, 1)
    assert ranks.leads == [FIRST_LEAD]
    assert ranks.teams.lead_of(1) == ranks.teams.lead_of(2) == FIRST_LEAD
    assert ranks.teams.leave(1) is None
    assert ranks.teams.find(1) is None
    lead = ranks.teams.leave(2)
    assert lead is not None
    assert lead.job == FIRST_LEAD
    assert ranks.teams.leads == []


def test_teams_have_leads_of_numbers_that_none_had_before(ranks: Ranks) -> None:
    ranks.join(1, 0, "a")
    ranks.join(2, 0, "b")
    ranks.teams.leave(1)
    ranks.join(3, 0, "a")
    assert len(set(ranks.leads)) == 3
    assert all(lead < 0 for lead in ranks.leads)


@pytest.mark.parametrize(
    ("rank", "more", "words"),
    [
        (2, {}, "rank=2 is not a rank of 2; ranks count from 0"),
        (-1, {}, "rank=-1 is not a rank of 2"),
        (1, {"of": 3}, "world_size=3, the ranks before it 2"),
        (1, {"drop_last": True}, "differ in drop_last"),
        (0, {}, "has joined already"),
    ],
)
def test_a_rank_that_does_not_belong_is_refused_and_changes_nothing(
    ranks: Ranks, rank: int, more: dict[str, object], words: str
) -> None:
    ranks.join(1, 0)
    with pytest.raises(BadArgument, match=words):
        ranks.join(2, rank, **more)  # type: ignore[arg-type]
    assert ranks.teams.find(2) is None
    ranks.join(3, 1)
    assert ranks.teams.leave(1) is None


def test_a_team_that_its_first_rank_cannot_make_is_not_there(ranks: Ranks) -> None:
    with pytest.raises(BadArgument, match="ranks count from 0"):
        ranks.join(1, 5)
    assert ranks.teams.leads == []
    ranks.join(2, 0, of=4)  # what the first said of its size is forgotten, too


def test_remote_ranks_take_the_rows_of_their_team(ranks: Ranks) -> None:
    rows = np.arange(20)
    remote = Join(2, "code", rows, 20, 2, team="t", rank=1, world_size=2, remote=True)
    assert ranks.teams.rows_of(remote) is None  # nobody is here yet
    ranks.join(1, 0)
    found = ranks.teams.find(1)
    assert found is not None
    assert ranks.teams.rows_of(remote) is found[0].lead.rows
