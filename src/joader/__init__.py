"""joader: one daemon per machine prepares training samples once, for every job that needs them.

Importing this package starts nothing and loads neither torch nor numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from joader.version import __version__

if TYPE_CHECKING:
    from joader import callbacks, cluster, images, storage
    from joader.catalog import Table, create, drop
    from joader.catalog import open_table as open
    from joader.client.device_prefetcher import DevicePrefetcher
    from joader.client.loader import DataLoader
    from joader.sampling import folds, growing

__all__ = [
    "DataLoader",
    "DevicePrefetcher",
    "Table",
    "__version__",
    "callbacks",
    "cluster",
    "create",
    "drop",
    "folds",
    "growing",
    "images",
    "open",
    "storage",
]

_HOMES = {
    "DataLoader": ("joader.client.loader", "DataLoader"),
    "DevicePrefetcher": ("joader.client.device_prefetcher", "DevicePrefetcher"),
    "Table": ("joader.catalog", "Table"),
    "create": ("joader.catalog", "create"),
    "drop": ("joader.catalog", "drop"),
    "folds": ("joader.sampling", "folds"),
    "growing": ("joader.sampling", "growing"),
    "open": ("joader.catalog", "open_table"),
}
# Rooms that users know: there after `import joader`, and loaded when they are asked for.
_ROOMS = {"callbacks", "cluster", "images", "storage"}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"joader.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'joader' has no attribute {name!r}")
    module, there = _HOMES[name]
    found = getattr(import_module(module), there)
    # If torch is loaded, the loader also counts as a subclass of torch's, for code that checks.
    return found.known_to_torch() if name == "DataLoader" else found
