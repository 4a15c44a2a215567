"""joader: one daemon per machine prepares training samples once, for every job that needs them.

Importing this package starts nothing and loads neither torch, numpy nor ray.
"""

from typing import TYPE_CHECKING, Any

from joader.version import __version__

if TYPE_CHECKING:
    from joader.client.loader import DataLoader
    from joader.client.prefetch import DevicePrefetcher

__all__ = ["DataLoader", "DevicePrefetcher", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "DataLoader":
        from joader.client.loader import DataLoader

        return DataLoader
    if name == "DevicePrefetcher":
        from joader.client.prefetch import DevicePrefetcher

        return DevicePrefetcher
    raise AttributeError(f"module 'joader' has no attribute {name!r}")
