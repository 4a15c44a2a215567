"""Many machines: who is there, who leads, and bytes from one daemon's memory to another's.

Reading order: `contract` (what the daemon relies on), `key` and `greeting` (who may come in), `tls`
(encrypted, if asked for), `listener` (where they come in), `this_node` (how others see this
machine), `leader` and `address` (who is there, by an address that all know; `leader_address` is
that, as people write it), `byte_server` and `byte_link` (prepared samples on their way),
`rank_line` (what ranks of common jobs are told), `auto` (addresses from Slurm and torchrun), `ray`
(Ray instead of an address). Nothing is decided here: where rows live and where bytes come from is
in `schedule/nodes`.

Every node has the same daemon as a single machine. A leader that is gone costs nobody a row: nodes
go on with what they know, and alone where they cannot reach each other.
"""

from typing import Any

__all__ = ["start", "stop"]


def __getattr__(name: str) -> Any:
    """Load what needs Ray only when it is asked for."""
    if name in __all__:
        from joader.cluster import ray

        return getattr(ray, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
