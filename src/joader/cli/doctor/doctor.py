"""Runs all checks and prints what they found; 1 if one of them is bad."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from joader.cli.console import Console, write
from joader.cli.doctor import folder, machine
from joader.cli.doctor.finding import Finding
from joader.cli.words import counted

CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    machine.versions,
    machine.processors,
    machine.memory,
    machine.limits,
    machine.kernel,
    folder.folder,
    folder.daemon,
)
_MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "bad": ("BAD", "bold red")}


def doctor(as_json: bool) -> int:
    """Check this machine."""
    findings = [finding for check in CHECKS for finding in check()]
    bad = sum(finding.level == "bad" for finding in findings)
    if as_json:
        checks = [asdict(finding) for finding in findings]
        write(json.dumps({"ok": not bad, "checks": checks}) + "\n", sys.stdout)
    else:
        _print(findings, bad)
    return 1 if bad else 0


def _print(findings: list[Finding], bad: int) -> None:
    console = Console(highlight=False)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for finding in findings:
        grid.add_row(Text(*_MARKS[finding.level]), finding.name, Text(finding.found))
        if finding.advice:
            grid.add_row("", "", Text(f"→ {finding.advice}", style="bold"))
    console.print(grid)
    doubts = sum(finding.level == "warn" for finding in findings)
    if bad:
        console.print(f"\n{counted(bad, 'thing')} must be put right before joader works here.")
    elif doubts:
        console.print(f"\njoader works here; {counted(doubts, 'thing')} could be better.")
    else:
        console.print("\njoader works here.")
