"""Where a module comes from: a library with a version, or the user's own files.

A library's code is identified by its version, so it need not be read; code in neither the standard
library nor site-packages is the user's and may change from one run to the next. A project installed
in place (`pip install -e`) is outside site-packages and so counts as the user's. joader itself is a
library wherever it is: storages keep open handles in its modules.
Nothing is imported to find out: the result is the same before and after a late import.
"""

import os
import platform
import sys
from functools import lru_cache
from importlib import util
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder

from joader.version import __version__

_PYTHON = f"{platform.python_implementation()} {platform.python_version()}"
_STDLIB = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
SCRIPT = frozenset({"__main__", "__mp_main__"})  # the user's wherever it lies
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@lru_cache(maxsize=4096)
def library_of(name: str) -> str | None:
    """Return name and version of the library a module belongs to; None if it is the user's."""
    if name in SCRIPT:
        return None
    top, _, inner = name.partition(".")
    if top == "joader":
        return f"joader {__version__}"
    file = file_of(name)
    if file is None:
        if top in sys.builtin_module_names or top in sys.stdlib_module_names:
            return _PYTHON
        # A module made by code, such as torch.ops, belongs to the package it is in.
        return library_of(name.rpartition(".")[0]) if inner else None
    if _INSTALLED.intersection(file.split(os.sep)):
        return _versioned(top)
    return _PYTHON if os.path.realpath(file).startswith(_STDLIB) else None


def file_of(name: str) -> str | None:
    """Return the file of a module, imported or not; None if it has none."""
    module = sys.modules.get(name)
    if module is not None:
        file = getattr(module, "__file__", None)
        return file if isinstance(file, str) else None
    spec = _spec(name)
    return spec.origin if spec is not None and spec.has_location else None


def is_compiled(name: str) -> bool:
    """Return whether a module is an extension, whose code cannot be inspected."""
    return (file_of(name) or "").endswith(tuple(EXTENSION_SUFFIXES))


def _spec(name: str) -> ModuleSpec | None:
    """Find a module without importing the packages it is in (as importlib.util would)."""
    top, *inner = name.split(".")
    try:
        spec = util.find_spec(top)
        for part in inner:
            if spec is None or spec.submodule_search_locations is None:
                return None
            spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    except (ImportError, ValueError, AttributeError):  # no such thing, or a module made by code
        return None
    return spec


@lru_cache(maxsize=1024)
def _versioned(top: str) -> str | None:
    """Return a top-level package with its version; None if nothing installed claims it."""
    # Late: it brings the parsers of e-mail and csv, and a loader whose rows are at hand needs none.
    from importlib import metadata

    try:
        return f"{top} {metadata.version(top)}"
    except metadata.PackageNotFoundError:
        owners = _owners(top) or sorted(set(metadata.packages_distributions().get(top, ())))
        return ", ".join(f"{owner} {metadata.version(owner)}" for owner in owners) or None


def _owners(top: str) -> list[str]:
    """Return which installed packages a module belongs to: PIL comes from pillow.

    Their lists of files are searched as raw bytes: parsing all of them takes 0.3 s with 60 packages
    installed, in every job before its first batch.
    """
    found = file_of(top)
    parts = (found or "").split(os.sep)
    inside = [number for number, part in enumerate(parts) if part in _INSTALLED]
    if not inside:
        return []
    folder = os.sep.join(parts[: inside[-1] + 1])
    owners = []
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else ()):
        if name.endswith(".dist-info"):
            try:
                with open(os.path.join(folder, name, "RECORD"), "rb") as file:
                    listed = b"\n" + file.read()
            except OSError:
                continue
            if f"\n{top}/".encode() in listed or f"\n{top}.py,".encode() in listed:
                owners.append(name.partition("-")[0])
    return owners
