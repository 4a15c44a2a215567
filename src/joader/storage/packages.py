"""Optional packages: imported when a storage that needs them is opened, never before."""

import importlib
from typing import Any

from joader.errors import MissingExtra, to_install


def needed(name: str, what: str, extra: str) -> Any:
    """Import a package, or say how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(
            f"{what} needs {name.partition('.')[0]}, which cannot be imported here: {error}; "
            f"install it with {to_install(extra)}"
        ) from error
