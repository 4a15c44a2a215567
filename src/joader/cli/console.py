"""What every command prints with: a rich console for which a reader that goes away is no error.

`joader … | head` ends the reader early. The command then goes on in silence, so that files it was
asked to write are written, and its exit code says how the work went. Rich would exit with 1.
"""

import os
from typing import IO

import rich.console


class Console(rich.console.Console):
    """Print to a terminal, a file or a pipe."""

    def on_broken_pipe(self) -> None:
        """Drop the rest of the output."""
        self.quiet = True
        drop(self.file)

    def print_plain(self, text: str) -> None:
        """Print text that is not ours, as a path: no markup, no colours, no wrapping."""
        self.print(text, markup=False, highlight=False, soft_wrap=True)


def write(text: str, stream: IO[str]) -> None:
    """Write text as it is, for programs or as the last word to people."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        drop(stream)


def drop(stream: IO[str]) -> None:
    """Send a stream nowhere from now on, what is still in its buffer included."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
