"""Many machines: which nodes there are, which one leads, and the transfer of samples between them.

Reading order: `contract` (what the daemon relies on), `key` and `greeting` (authentication), `tls`
(encryption, if asked for), `listener` (accepts other nodes), `this_node` (how others see this
machine), `leader` and `address` (membership by an address that all nodes know; `leader_address` is
that address as people write it), `byte_server` and `byte_link` (prepared samples out and in),
`rank_line` (messages for ranks and joint draws), `auto` (addresses from Slurm and torchrun), `ray`
(Ray instead of an address). Nothing is decided here: homes of rows, and where bytes come from, are
in `schedule/nodes`.

Every node runs the same daemon as a single machine. No row is lost with the leader: nodes continue
with the members they know, and alone if they cannot reach each other.
"""

from typing import Any

__all__ = ["start", "stop"]


def __getattr__(name: str) -> Any:
    """Load what needs Ray only when it is asked for."""
    if name in __all__:
        from joader.cluster import ray

        return getattr(ray, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
