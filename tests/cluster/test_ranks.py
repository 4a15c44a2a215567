"""One job on two nodes, by torch's DistributedSampler: each row is prepared once in the cluster."""

import json
import subprocess
import sys

import pytest

from tests.cluster.nodes import Nodes
from tests.warm import process as warm

RANK = """
import json, os, sys, time
import numpy as np, torch
import joader

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 1200
    def __getitem__(self, row):
        time.sleep(0.003)
        with open("prepared", "a") as file:
            file.write(f"{row}\\n")
        return torch.full((500,), row, dtype=torch.int32), row

data = Rows()
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
sampler = torch.utils.data.DistributedSampler(data, world, rank, seed=3)
loader = joader.DataLoader(data, batch_size=20, sampler=sampler, deterministic=True, num_workers=1)
for epoch in range(4):
    sampler.set_epoch(epoch)
    seen = []
    for values, rows in loader:
        assert (values == rows[:, None]).all()
        seen += rows.tolist()
    print(json.dumps([seen, len(open("prepared").read().split())]), flush=True)
"""


@pytest.mark.slow
def test_ranks_on_two_nodes_read_what_the_other_has_prepared(nodes: Nodes) -> None:
    pytest.importorskip("torch")
    nodes.up("a", "b")
    (nodes.folder / "rank.py").write_text(RANK)
    ranks = []
    for number, name in enumerate(("a", "b")):
        launched = {"RANK": str(number), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}
        ranks.append(
            warm.Process(
                [sys.executable, str(nodes.folder / "rank.py")],
                cwd=nodes.folder,
                env={**nodes.environment(name), **launched},
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    told = [
        [json.loads(line) for line in rank.communicate(timeout=120)[0].splitlines()]
        for rank in ranks
    ]
    assert [rank.returncode for rank in ranks] == [0, 0]
    for (one, _), (other, _) in zip(*told, strict=True):
        assert sorted(one + other) == list(range(1200))
    # Later passes find all rows in the memory of both nodes together, but for those compared.
    total = max(passes[-1][1] for passes in told)
    assert total < 1.35 * 1200
