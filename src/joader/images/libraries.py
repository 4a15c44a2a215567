"""Which library does the work: Pillow, simplejpeg, torch. None is imported before it is needed.

- *JPEG* is decoded by simplejpeg: the same bits as Pillow, 1.6 times as fast, and it writes into a
  given buffer. Without it, or if it declines: by Pillow.
- *All other formats* are decoded by Pillow; without it: `MissingExtra`.
- *Resizing* is done by torch if it is installed (5 times as fast), else by Pillow.

**Why torch is imported for a resize.** It costs a worker 1.4 s (2.8 s on a busy machine) and 200 MB
of memory, partly shared between workers, and saves 1.1 ms per image: it pays off after some 2,000
images per worker. What counts is whether it is *installed*, never whether it has been loaded yet or
how many images are left: torch and Pillow differ by one level in 3 % of the values, and the same
bytes must give the same pixels in every worker of an environment, at any time. Code that cannot
wait at the first image calls `warm_up` before it. Flips are the same with either; they use torch
only if it is already loaded.
"""

import importlib
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any, NoReturn

from joader.errors import MissingExtra, to_install

ALL = ("PIL.Image", "simplejpeg", "torch")


def pillow() -> Any:
    """Return the module PIL.Image, or say how to get it."""
    return _imported("PIL.Image") or _missing("this image needs Pillow", "PIL.Image", "images")


def simplejpeg() -> Any:
    """Return the module simplejpeg, or None if Pillow has to do its work."""
    return _imported("simplejpeg")


def torch() -> Any:
    """Import torch and return it if it is installed; else return None."""
    return _imported("torch")


def needed_torch(what: str) -> Any:
    """Return torch, or say how to get it."""
    return torch() or _missing(f"{what} needs torch", "torch", "torch")


def loaded_torch() -> Any:
    """Return torch if it is already imported, completely; else None."""
    module = sys.modules.get("torch")
    if module is None or getattr(module.__spec__, "_initializing", False):
        return None
    return module


def warm_up(names: Iterable[str] = ALL) -> None:
    """Import now what the first image would import: up to 3 s if torch is installed."""
    for name in names:
        _imported(name)


@cache
def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception:  # also if it is installed but broken: built for another NumPy, or truncated
        return None


def _missing(what: str, name: str, extra: str) -> NoReturn:
    cause: Exception | None = None
    try:
        importlib.import_module(name)
    except Exception as error:
        cause = error
    raise MissingExtra(
        f"{what}, which cannot be imported here: {cause or 'it failed before'}; "
        f"install it with {to_install(extra)}"
    ) from cause
