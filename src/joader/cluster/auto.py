"""The leader's address from the environment of Slurm or torchrun: `--cluster auto`.

Slurm lists all machines of a job; the first one leads. torchrun gives its own rendezvous address;
that machine leads, at a port of ours. JOADER_CLUSTER_LEADER overrides both.
"""

import re
from collections.abc import Mapping

from joader.cluster.leader_address import DEFAULT_PORT, Address
from joader.errors import BadArgument

_LEADER = "JOADER_CLUSTER_LEADER"
# Jobs of one user may run at the same time on one machine: each gets a port of its own.
_PORTS = 1000


def auto_address(environment: Mapping[str, str]) -> Address:
    """Return the leader's address from the variables of a batch system."""
    named = environment.get(_LEADER)
    if named:
        return Address.read(named)
    nodes = environment.get("SLURM_JOB_NODELIST") or environment.get("SLURM_NODELIST")
    if nodes:
        number = environment.get("SLURM_JOB_ID", "")
        shift = int(number) % _PORTS if number.isdecimal() else 0
        return Address(first_host(nodes), DEFAULT_PORT + shift)
    master = environment.get("MASTER_ADDR")
    if master:
        return Address(master, DEFAULT_PORT)
    raise BadArgument(
        "--cluster=auto needs the variables of Slurm (SLURM_JOB_NODELIST) or torchrun "
        f"(MASTER_ADDR), or {_LEADER}=HOST:PORT, and none is set; give --cluster=HOST:PORT"
    )


def first_host(nodes: str) -> str:
    """Return the first of Slurm's list of nodes: gpu[03-05,9],login1 begins with gpu03."""
    found = re.match(r"([^\[,]+)(?:\[([^\]]+)\])?([^,\[]*)", nodes.strip())
    if not found:
        raise BadArgument(f"SLURM_JOB_NODELIST={nodes!r} is not a list of nodes")
    start, numbers, rest = found.groups()
    first = re.split(r"[-,]", numbers)[0] if numbers else ""
    return f"{start}{first}{rest}"
