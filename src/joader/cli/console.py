"""The console of all commands: rich's, except that a reader that goes away is not an error.

`joader … | head` ends the reader early. The command then continues silently, so that it still
writes the files it was asked for, and its exit code says how the work went. Rich would exit with 1.
"""

import os
from collections.abc import Callable, Sequence
from typing import IO

import rich.console
from rich.cells import cell_len
from rich.table import Table

from joader.daemon.names import shortened

_LEAST_NAME = 8
_ANY_WIDTH = 10_000


class Console(rich.console.Console):
    """Print to a terminal, a file or a pipe."""

    def on_broken_pipe(self) -> None:
        """Drop the rest of the output."""
        self.quiet = True
        drop(self.file)

    def print_plain(self, text: str) -> None:
        """Print text that is not ours, such as a path: no markup, no colors, no wrapping."""
        self.print(text, markup=False, highlight=False, soft_wrap=True)

    def print_fitted(self, names: Sequence[str], make: Callable[[Sequence[str]], Table]) -> None:
        """Print a table of jobs no wider than the screen: their names are cut in the middle."""
        table = make(names)
        any_width = self.options.update(max_width=_ANY_WIDTH)
        over = self.measure(table, options=any_width).maximum - self.width
        if over > 0:
            most = max(_LEAST_NAME, max(map(cell_len, names)) - over)
            table = make([shortened(name, most, cell_len) for name in names])
        self.print(table)


def write(text: str, stream: IO[str]) -> None:
    """Write text as it is, for programs or as a final line for people."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        drop(stream)


def drop(stream: IO[str]) -> None:
    """Discard everything sent to a stream from now on, including what is still in its buffer."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
