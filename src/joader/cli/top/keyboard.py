"""Keys as they are pressed: the terminal gives them at once and does not show them."""

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = {
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\x03": "ctrl-c",
    "\x7f": "backspace",
    "\b": "backspace",
}
# Of sequences, by how they end; terminals begin them in two ways.
_SEQUENCES = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "H": "home",
    "F": "end",
    "1~": "home",
    "4~": "end",
    "5~": "page up",
    "6~": "page down",
    "7~": "home",
    "8~": "end",
}
# A sequence, one that has not come whole, or a letter.
_TOKEN = re.compile(r"\x1b(?:\[|O)([0-?]*[ -/]*[@-~])|(\x1b(?:\[[ -?]*|O))$|(.)", re.DOTALL)
_CUT = re.compile(r"\x1b(?:\[[ -?]*|O)?$")
# In which the rest of a sequence comes, also over a slow line; Escape alone takes as long.
_REST_S = 0.05


class Keyboard:
    """What is typed."""

    def __init__(self, descriptor: int, rest_s: float = _REST_S) -> None:
        """Read from a terminal that `listening` has set up; -1: nobody types."""
        self._descriptor = descriptor
        self._rest_s = rest_s

    def pressed(self, timeout_s: float) -> list[str]:
        """Return the keys that come in this time, as soon as one does."""
        if self._descriptor < 0:
            time.sleep(timeout_s)
            return []
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        if not ready:
            return []
        text = self._read()
        while _CUT.search(text) and select.select([self._descriptor], [], [], self._rest_s)[0]:
            text += self._read() or "q"
        return keys_in(text) if text else ["q"]  # the terminal is gone

    def _read(self) -> str:
        return os.read(self._descriptor, 1024).decode(errors="replace")


def keys_in(text: str) -> list[str]:
    """Return the keys of what a terminal sends; keys that have no meaning here are left out."""
    keys = []
    for sequence, _, letter in _TOKEN.findall(text):
        name = _SEQUENCES.get(sequence) if sequence else _NAMES.get(letter, letter)
        if name and (len(name) > 1 or name.isprintable()):
            keys.append(name)
    return keys


@contextmanager
def listening() -> Iterator[Keyboard]:
    """Have the terminal give keys one by one; as it was before when done."""
    if not sys.stdin.isatty():
        yield Keyboard(-1)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
