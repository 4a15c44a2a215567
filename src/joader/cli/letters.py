"""Letters that a terminal can show: ASCII if its locale has no others.

In the C and POSIX locales Python writes UTF-8 all the same (PEP 540), which such a terminal shows
as garbage. A locale that nobody has set is no such word: containers have none, and show UTF-8.
"""

import codecs
import io
import os
import sys
from collections.abc import Mapping

_ALIKE = {"…": "~", "→": ">", "×": "x", "÷": "/", "·": ".", "–": "-"}
_ERRORS = "joader.alike"


def ascii_only(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user's locale says that there are no other letters."""
    if not sys.flags.utf8_mode or environment.get("PYTHONUTF8") == "1":
        return False  # the locale has an encoding of its own, which Python obeys
    # Not LC_CTYPE, which Python has changed by now (PEP 538).
    return bool(environment.get("LC_ALL") or environment.get("LANG"))


def adapt(stream: object) -> None:
    """Have a stream show what its terminal has no letter for as one that looks alike, or `?`."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    codecs.register_error(_ERRORS, _alike)
    # Files and pipes keep UTF-8: names in JSON must not change.
    encoding = "ascii" if stream.isatty() and ascii_only() else None
    stream.reconfigure(encoding=encoding, errors=_ERRORS)


def _alike(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_ALIKE.get(letter, "?") for letter in letters), error.end
