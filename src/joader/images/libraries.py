"""Which library does the work: Pillow, simplejpeg, torch. None is imported before it is needed.

- *JPEG* is decoded by simplejpeg: equal to Pillow to the bit, 1.6 times as fast, and it writes into
  a given buffer. Without it, or where it declines: by Pillow.
- *All other formats* are decoded by Pillow; without it: `MissingExtra`.
- *Resizing* is done by torch where that is installed (5 times as fast), else by Pillow.

**Why torch is imported for a resize.** It costs a worker 1.4 s (2.8 s on a busy machine) and 200 MB
of memory, partly shared between workers, and saves 1.1 ms an image: it has paid after some 2,000
images a worker. Whether it is *installed* decides, never whether somebody has loaded it yet or how
many images are left: torch and Pillow differ by one level in 3 % of the values, and the same bytes
must give the same pixels in every worker of an environment, at every time. Who cannot wait on the
first image calls `warm_up` before it. Flips are the same by either; there torch is used if it is
loaded already.
"""

import importlib
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any, NoReturn

from joader.errors import MissingExtra

ALL = ("PIL.Image", "simplejpeg", "torch")


def pillow() -> Any:
    """Return the module PIL.Image, or say how to get it."""
    return _imported("PIL.Image") or _missing("this image needs Pillow", "PIL.Image", "images")


def simplejpeg() -> Any:
    """Return the module simplejpeg, or None where Pillow has to do."""
    return _imported("simplejpeg")


def torch() -> Any:
    """Return torch where it is installed, importing it; else None."""
    return _imported("torch")


def needed_torch(what: str) -> Any:
    """Return torch, or say how to get it."""
    return torch() or _missing(f"{what} needs torch", "torch", "torch")


def loaded_torch() -> Any:
    """Return torch if somebody has imported it already, to its end; else None."""
    module = sys.modules.get("torch")
    if module is None or getattr(module.__spec__, "_initializing", False):
        return None
    return module


def warm_up(names: Iterable[str] = ALL) -> None:
    """Import now what the first image would import: up to 3 s where torch is installed."""
    for name in names:
        _imported(name)


@cache
def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception:  # also one that is installed and broken: built for another NumPy, or cut off
        return None


def _missing(what: str, name: str, extra: str) -> NoReturn:
    cause: Exception | None = None
    try:
        importlib.import_module(name)
    except Exception as error:
        cause = error
    raise MissingExtra(
        f"{what}, which cannot be imported here: {cause or 'it failed before'}; "
        f"install it with `pip install 'joader[{extra}]'`"
    ) from cause
