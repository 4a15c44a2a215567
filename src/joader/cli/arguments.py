"""The parser of every command: what is wrong is one sentence, with where to look."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Parse a command; its subcommands get parsers like it."""

    def error(self, message: str) -> NoReturn:
        """Say in a line what is wrong, and end with 2."""
        self.exit(2, f"joader: {message}; `{self.prog} --help` shows what it takes\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse; here, not by the outermost parser, is said what nobody knows."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def count(text: str) -> int:
    """Return how many; the user's mistake is said by the parser."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; use an integer of at least 1")
    return int(text)


def seed(text: str) -> int:
    """Return the seed of a random generator."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; use an integer >= 0")
    return int(text)


def seconds(text: str) -> float:
    """Return a time above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; use seconds above 0, such as 5")
    return value


def port(text: str) -> int:
    """Return a port of TCP; 0: any."""
    if not text.isdecimal() or not (int(text) == 0 or 1024 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; use 1024 to 65535, or 0 for any")
    return int(text)


def add_json(command: argparse.ArgumentParser) -> None:
    """Add the option to keep figures as JSON."""
    command.add_argument(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help="write the figures (without FILE: to standard output)",
    )
