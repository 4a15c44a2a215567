"""Keys as they are pressed: the terminal gives them at once and does not show them."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\x03": "ctrl-c",
    "\x7f": "backspace",
}


class Keyboard:
    """What is typed."""

    def __init__(self, descriptor: int) -> None:
        """Read from a terminal that `listening` has set up; -1: nobody types."""
        self._descriptor = descriptor

    def pressed(self, timeout_s: float) -> list[str]:
        """Return the keys that come in this time, as soon as one does."""
        if self._descriptor < 0:
            time.sleep(timeout_s)
            return []
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        data = os.read(self._descriptor, 1024) if ready else b"\0"
        if not data:
            return ["q"]  # the terminal is gone
        return keys_in(data.decode(errors="replace")) if ready else []


def keys_in(text: str) -> list[str]:
    """Return the keys of what a terminal sends; keys that have no meaning here are left out."""
    keys = []
    while text:
        for length in (3, 1):
            name = _NAMES.get(text[:length])
            if name is not None or length == 1:
                keys.append(name or text[0])
                text = text[length:]
                break
    return [key for key in keys if len(key) > 1 or key.isprintable()]


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
