"""Which processes are ranks of one job is what the launcher and the user say."""

from pathlib import Path
from types import ModuleType

import pytest

from joader.client import ranks
from joader.errors import BadArgument

LAUNCHER = {
    "RANK": "1",
    "WORLD_SIZE": "4",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}


class DistributedSampler:
    def __init__(self, rank: int, num_replicas: int, length: int) -> None:
        self.rank, self.num_replicas, self.dataset = rank, num_replicas, range(length)


@pytest.fixture(autouse=True)
def launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, LAUNCHER[name])
    module = ModuleType("torch.utils.data.distributed")
    module.DistributedSampler = DistributedSampler  # type: ignore[attr-defined]
    monkeypatch.setitem(ranks.sys.modules, "torch.utils.data.distributed", module)
    monkeypatch.delitem(ranks.sys.modules, "torch.distributed", raising=False)
    monkeypatch.setattr(ranks, "_loaders", ranks.Counter())


def test_a_named_job_of_a_launcher_is_a_rank_and_others_are_not() -> None:
    rank = ranks.find_rank("train", True, None, 9)
    assert rank is not None
    assert (rank.number, rank.world_size) == (1, 4)
    assert ranks.find_rank("train", False, None, 9) is None
    assert ranks.find_rank("train", True, [1, 2, 3], 9) is None
    assert ranks.find_rank("train", True, [], 9) is None


def test_a_distributed_sampler_is_replaced_only_where_it_says_what_the_launcher_says() -> None:
    assert ranks.find_rank("train", False, DistributedSampler(1, 4, 9), 9) is not None
    for other in ((0, 4, 9), (1, 2, 9), (1, 4, 8)):
        assert ranks.find_rank("train", False, DistributedSampler(*other), 9) is None


def test_the_first_loader_of_each_length_meets_the_first_of_the_other_ranks() -> None:
    teams = [ranks.find_rank("train", True, None, rows) for rows in (9, 5, 9)]
    assert [team.team.split(", ", 1)[1] for team in teams if team] == [
        "9 rows, loader 1",
        "5 rows, loader 1",
        "9 rows, loader 2",
    ]
    assert len({team.start for team in teams if team}) == 1  # all of them read for it


def test_ranks_on_several_nodes_are_one_job_if_their_daemons_are_a_cluster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))  # no daemon listens there
    monkeypatch.delenv("JOADER_CLUSTER", raising=False)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pytest.raises(BadArgument, match="has 4 ranks, 2 of them on this node"):
        ranks.find_rank("train", True, None, 9)
    assert ranks.find_rank("train", True, DistributedSampler(1, 4, 9), 9) is None
    monkeypatch.setenv("JOADER_CLUSTER", "node1:27117")  # daemons that jobs start join it
    for sampler in (None, DistributedSampler(1, 4, 9)):
        rank = ranks.find_rank("train", True, sampler, 9)
        assert rank is not None
        assert (rank.here, rank.world_size) == (2, 4)


def test_a_world_size_without_a_rank_is_a_leftover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK")
    assert ranks.find_rank("train", True, None, 9) is None
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(BadArgument, match="RANK is 'x' in the environment"):
        ranks.find_rank("train", True, None, 9)


def test_what_torch_distributed_knows_counts_first(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("torch.distributed")
    answers = {"is_available": True, "is_initialized": True, "get_rank": 0, "get_world_size": 2}
    for name, answer in answers.items():
        setattr(module, name, lambda answer=answer: answer)
    monkeypatch.setitem(ranks.sys.modules, "torch.distributed", module)
    for name in LAUNCHER:
        monkeypatch.delenv(name)
    rank = ranks.find_rank("train", True, None, 9)
    assert rank is not None
    assert (rank.number, rank.world_size) == (0, 2)
    assert "at process" in rank.team
