"""joader: one daemon per machine prepares training samples once, for every job that needs them.

Importing this package starts nothing and loads neither torch, numpy nor ray.
"""

from typing import TYPE_CHECKING, Any

from joader.version import __version__

if TYPE_CHECKING:
    from joader.client.loader import DataLoader

__all__ = ["DataLoader", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "DataLoader":
        from joader.client.loader import DataLoader

        return DataLoader
    raise AttributeError(f"module 'joader' has no attribute {name!r}")
