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
from pathlib import Path
from typing import Any

from joader.client.watcher import Watcher
from joader.errors import BadArgument, JoaderError

_loaders: Counter[str] = Counter()  # made by this process: all ranks make the same ones


@dataclass(frozen=True)
class Rank:
    """One of several processes of a job."""

    team: str
    number: int
    world_size: int
    start: str  # of the job: all its loaders read for it, as those of one process do
    here: int = 0  # how many of its ranks are on this node; 0: nobody says


def is_distributed(sampler: Any) -> bool:
    """Tell whether a sampler is torch's DistributedSampler."""
    module = sys.modules.get("torch.utils.data.distributed")
    return module is not None and isinstance(sampler, module.DistributedSampler)


def find_rank(
    name: str, asked: bool, sampler: Any, length: int, address: str | None = None
) -> Rank | None:
    """Return this process's rank; None if it trains by itself, or its sampler is to be obeyed.

    A DistributedSampler that speaks of other ranks than the launcher's, or of other data, is
    obeyed, and so is one of a job on several nodes whose daemons are in no cluster. `address`: of
    this node's daemon.
    """
    number, world_size = _place()
    if world_size < 2 or not (asked or is_distributed(sampler)):
        return None
    if sampler is not None and not (
        is_distributed(sampler)
        and (sampler.rank, sampler.num_replicas) == (number, world_size)
        and len(sampler.dataset) == length
    ):
        return None
    here = _variable("LOCAL_WORLD_SIZE", 0)
    if 0 < here < world_size and not _in_cluster(address):
        if sampler is not None:
            return None
        raise BadArgument(
            f"job {name!r} has {world_size} ranks, {here} of them on this node; ranks on several "
            "nodes are one job only if the daemons of these nodes are a cluster. Start one on each "
            "before the job (`joader up -d --cluster HOST:PORT`), or set JOADER_CLUSTER, or give "
            "the loader a DistributedSampler: it is obeyed"
        )
    # By length too: a rank that has a loader more than the others still meets them in the rest.
    start = f"{name} at {_meeting()}"
    of = f"{start}, {length} rows"
    _loaders[of] += 1
    return Rank(f"{of}, loader {_loaders[of]}", number, world_size, start, here)


def _in_cluster(address: str | None) -> bool:
    """Tell whether the daemon of this node is in a cluster, or will be once it is started."""
    if os.environ.get("JOADER_CLUSTER"):
        return True
    try:
        with Watcher(Path(address) if address else None) as watcher:
            return watcher.status().cluster is not None
    except JoaderError:
        return False


def _place() -> tuple[int, int]:
    """Return rank and world size as torch.distributed knows them, or the launcher said."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size())
    world_size = _variable("WORLD_SIZE", 1)
    if world_size > 1 and not os.environ.get("RANK"):
        return 0, 1  # a leftover: nobody says which rank this is
    return _variable("RANK", 0), world_size


def _meeting() -> str:
    """Name what the ranks of one start of a job have in common, and no other start has."""
    names = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
    if os.environ.get("MASTER_PORT"):
        return ":".join(os.environ.get(name, "") for name in names)
    return f"process {os.getppid()}"  # who spawned them


def _variable(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    try:
        return int(text)
    except ValueError as error:
        raise BadArgument(f"{name} is {text!r} in the environment; it is a number") from error
