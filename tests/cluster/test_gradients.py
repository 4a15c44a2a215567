"""Gradients of ranks on two nodes are those of one process, however rows are split: DDP over gloo.

A model without BatchNorm sums over the global batch, so it does not matter which rank adds which
row. BatchNorm without sync normalizes by what a rank sees, so there it does.
"""

import json
from typing import Any

import pytest

from tests.cluster.nodes import Nodes
from tests.cluster.rank_jobs import free_port

TRAIN = """
import json, os, sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
import joader

OPTIONS = json.loads(sys.argv[1])
torch.set_num_threads(1)

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, row):
        return torch.sin(torch.arange(1, 9) * (row + 1.0)) + row / 400, row

def model_of(norm):
    torch.manual_seed(1)
    layers = [torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16) if norm else torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(16, 1))

def gradient(model, values, rows):
    model.zero_grad()
    loss = ((model(values)[:, 0] - rows / 400) ** 2).mean()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
data = Rows()
loader = joader.DataLoader(
    data, batch_size=16, shuffle=True, deterministic=True, num_workers=1, job="grad",
    locality=OPTIONS["locality"], timeout=60,
)
print(json.dumps("ready"), flush=True)
worst = {}
seen = []
models = {norm: (DistributedDataParallel(model_of(norm)), model_of(norm)) for norm in (False, True)}
for values, rows in loader:
    parts = [None] * world
    dist.all_gather_object(parts, rows.tolist())
    everything = sum(parts, [])
    seen.append(parts)
    whole = torch.stack([data[row][0] for row in everything])
    for norm, (ours, alone) in models.items():
        got = gradient(ours, values, rows)
        want = gradient(alone, whole, torch.tensor(everything))
        far = float((got - want).abs().max() / want.abs().max())
        worst[str(norm)] = max(worst.get(str(norm), 0.0), far)
print(json.dumps([worst, seen]), flush=True)
loader.close()
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("locality", [True, False])
def test_gradients_are_those_of_one_process(nodes: Nodes, locality: bool) -> None:
    pytest.importorskip("torch")
    nodes.up("a", "b")
    script = nodes.folder / "train.py"
    script.write_text(TRAIN)
    port = free_port()
    ranks = [
        nodes.start(
            name,
            [str(script), json.dumps({"locality": locality})],
            RANK=str(rank),
            WORLD_SIZE="2",
            LOCAL_WORLD_SIZE="1",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
            OMP_NUM_THREADS="1",
        )
        for rank, name in enumerate("ab")
    ]
    results: list[Any] = [rank.result(180)[-1] for rank in ranks]
    for worst, seen in results:
        assert worst["False"] < 1e-5  # float32
        assert worst["True"] > 1e-2  # BatchNorm without sync: another function of the split
        rows = [row for parts in seen for part in parts for row in part]
        assert sorted(set(rows)) == list(range(400))
