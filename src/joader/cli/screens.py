"""The parsers of commands that show what runs; each loads its code when it is called."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_screens(commands: Commands) -> None:
    """Add them to the command line."""
    _add_top(commands)


def _add_top(commands: Commands) -> None:
    top = commands.add_parser(
        "top",
        help="what runs, live: who shares with whom, and what that saves",
        description="Show what runs, live. Keys: q quits, up and down select a job, Enter shows "
        "all about it, s sorts by another figure, r turns the order around.",
    )
    top.add_argument("--once", action="store_true", help="print it once, for scripts")
    top.set_defaults(run=_top)


def _top(options: argparse.Namespace) -> int:
    from joader.cli.top.top import top

    return top(options.once)
