"""Where code runs: the environment that equal code and state may still depend on.

Two jobs share samples only if they run in the same place: the same Python finds the same modules,
and a path leads to the same file. A container has its own `/`, with its own device and inode; if
two containers share an image these may agree, but their mount namespaces differ.
"""

import json
import os
import sys
from hashlib import blake2b

from joader.version import __version__

_REMOVED = "(removed)"
# Parts that say nothing about the files of another machine.
_OF_THIS_MACHINE = frozenset(["folder on disk", "root on disk", "mount namespace"])


def place() -> str:
    """Name the place this process is in: equal if and only if all its parts are."""
    parts = json.dumps(place_in_words())
    return blake2b(parts.encode(), digest_size=16).hexdigest()


def place_in_words() -> dict[str, str]:
    """Return the parts of a place, for people to compare."""
    folder = _folder()
    return {
        "interpreter": str(sys.executable),
        "python": sys.version,
        "joader": __version__,
        # An empty or relative entry means another folder wherever it is read.
        "import path": os.pathsep.join(_absolute(entry, folder) for entry in map(str, sys.path)),
        "folder": folder,
        "folder on disk": _identity("."),
        "root on disk": _identity("/"),
        "mount namespace": _identity("/proc/self/ns/mnt"),
    }


def place_anywhere() -> str:
    """Name the place as far as another machine can have the same: by words, not by disks.

    Whether its paths lead to the same files there is not known; that is compared by content.
    """
    words = place_in_words()
    parts = json.dumps({name: words[name] for name in words if name not in _OF_THIS_MACHINE})
    return blake2b(parts.encode(), digest_size=16).hexdigest()


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed; its inode still distinguishes it from others
        return _REMOVED


def _absolute(entry: str, folder: str) -> str:
    return os.path.normpath(os.path.join(folder, entry))


def _identity(path: str) -> str:
    """Return device and inode of the file or folder at a path."""
    try:
        stat = os.stat(path)
    except OSError:  # there is no /proc, or the folder is no longer accessible
        return "unknown"
    return f"device {stat.st_dev}, inode {stat.st_ino}"
