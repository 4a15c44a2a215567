"""Which rank of which job this process is, if several processes train one model.

Ranks form one job if the user asked for it: by `job=`, in a process that a launcher started as one
of several (WORLD_SIZE > 1), or by a torch DistributedSampler, which is then replaced by the job's
one plan. Any other sampler is obeyed and never split again.
Not here: how the plan is made and cut (engine/team.py).
"""

import os
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from joader.errors import BadArgument

_loaders: Counter[str] = Counter()  # of ranks, made by this process: all ranks make the same


@dataclass(frozen=True)
class Rank:
    """One of several processes of a job."""

    team: str
    number: int
    world_size: int


def is_distributed(sampler: Any) -> bool:
    """Tell whether a sampler is torch's DistributedSampler."""
    module = sys.modules.get("torch.utils.data.distributed")
    return module is not None and isinstance(sampler, module.DistributedSampler)


def find_rank(name: str, asked: bool, sampler: Any) -> Rank | None:
    """Return this process's rank; None where it trains by itself, or has a sampler of its own."""
    if is_distributed(sampler):
        number, world_size = int(sampler.rank), int(sampler.num_replicas)
    elif asked and sampler is None:
        number = _variable("RANK", 0)
        world_size = _variable("WORLD_SIZE", 1)
    else:
        return None
    if world_size < 2:
        return None
    on_this_node = _variable("LOCAL_WORLD_SIZE", world_size)
    if on_this_node != world_size:
        raise BadArgument(
            f"job {name!r} has {world_size} ranks, {on_this_node} of them on this node; ranks on "
            "several nodes cannot be one job yet. Leave job= out and give the loader a "
            "DistributedSampler's order as batch_sampler="
        )
    meeting = ":".join(
        os.environ.get(part, "") for part in ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")
    )
    _loaders[name] += 1
    return Rank(f"{name} at {meeting}, loader {_loaders[name]}", number, world_size)


def _variable(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    try:
        return int(text)
    except ValueError as error:
        raise BadArgument(f"{name} is {text!r} in the environment; it is a number") from error
