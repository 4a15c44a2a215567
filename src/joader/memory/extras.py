"""torch and PIL, both optional: used if the caller has loaded them, imported only to rebuild.

A sample can hold a tensor only if torch is loaded in the process that made it; so looking into
`sys.modules` is enough to recognize one, and a job without torch never pays for its import (3 s).
"""

import importlib
import sys
from typing import Any

from joader.errors import MissingExtra, to_install


def loaded(name: str) -> Any:
    """Return the module if it is already imported, completely; else None."""
    module = sys.modules.get(name)
    if module is None or getattr(module.__spec__, "_initializing", False):
        return None
    return module


def needed(name: str, extra: str) -> Any:
    """Import a module to rebuild what a sample holds."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(
            f"a sample holds a value that needs {name}, which cannot be imported here: {error}; "
            f"install it with {to_install(extra)}"
        ) from error
