"""`joader datasets`: the tables of this user's catalog."""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import rich.table

from joader import catalog
from joader.catalog import Table
from joader.cli.console import Console, write
from joader.cli.words import counted, size
from joader.client.reading.connection import Connection
from joader.errors import WorldError
from joader.messages import AskStatus, Status
from joader.statistics import JobStatistics, from_json

_ASK_S = 5.0


def list_tables(as_json: bool) -> int:
    """Show all tables."""
    tables = [catalog.open_table(name) for name in catalog.table_names()]
    rows = [{"name": t.name, "version": t.version, "rows": len(t)} for t in tables]
    if as_json:
        return _print_json(rows)
    if not rows:
        write("no tables yet; `joader datasets create NAME PLACE` makes one\n", sys.stdout)
        return 0
    shown = _grid("name", "version", "rows", "place")
    for table in tables:
        shown.add_row(table.name, str(table.version), f"{len(table):,}", "; ".join(table.places()))
    Console().print(shown)
    return 0


def show(name: str, as_json: bool) -> int:
    """Show everything about a table."""
    table = catalog.open_table(name)
    facts = _facts(table)
    if as_json:
        return _print_json(facts)
    console = Console()
    console.print_plain(
        f"{table.name}, version {table.version}: {counted(len(table), 'row')}, "
        f"{size(facts['size_bytes'])} of data"
    )
    for place in facts["places"]:
        console.print_plain(f"of {place}")
    columns = _grid("column", "type", "kept")
    for column, kind in facts["stored"].items():
        columns.add_row(column, str(kind or "objects"), "with the data")
    for column, kind in facts["columns"].items():
        columns.add_row(column, kind, "in the row table")
    console.print(columns)
    versions = _grid("version", "made", "rows", "what")
    for version in table.versions():
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(version.made_at))
        versions.add_row(str(version.number), made, f"{version.rows:,}", version.what)
    console.print(versions)
    for job in facts["used_by"]:
        console.print_plain(
            f"used by {job['name']}, process {job['pid']}, which reads version {job['version']}"
        )
    if not facts["used_by"]:
        console.print_plain("no job is reading it now")
    return 0


def create(
    name: str,
    place: str,
    kind: str | None,
    index: Sequence[str] | None,
    sizes: bool,
    exist_ok: bool,
    as_json: bool,
) -> int:
    """Make a table."""
    table = catalog.create(name, place, kind=kind, index=index, sizes=sizes, exist_ok=exist_ok)
    return _say_what(table, as_json)


def refresh(name: str, as_json: bool) -> int:
    """Bring a table up to date."""
    return _say_what(catalog.open_table(name).refresh(), as_json)


def drop(name: str) -> int:
    """Drop a table."""
    catalog.drop(name)
    write(f"joader: {name} is dropped; its data is untouched\n", sys.stdout)
    return 0


def _say_what(table: Table, as_json: bool) -> int:
    if as_json:
        return _print_json(_facts(table))
    what = table.versions()[-1].what
    write(
        f"joader: {table.name} is at version {table.version}: {counted(len(table), 'row')} "
        f"({what})\n",
        sys.stdout,
    )
    return 0


def _facts(table: Table) -> dict[str, Any]:
    version = table.snapshot.version
    return {
        "name": table.name,
        "version": table.version,
        "rows": len(table),
        "size_bytes": table.size_bytes(),
        "places": table.places(),
        "stored": version.stored,
        "columns": version.columns,
        "classes": version.classes,
        "versions": [
            {"version": one.number, "made_at": one.made_at, "rows": one.rows, "what": one.what}
            for one in table.versions()
        ],
        "used_by": _used_by(table.name),
    }


def _used_by(name: str) -> list[dict[str, Any]]:
    """Return the jobs of the running daemon that read a table; none if no daemon runs."""
    jobs: Sequence[JobStatistics] = ()
    with suppress(WorldError, TimeoutError):
        connection = Connection(start=False)
        try:
            jobs = from_json(connection.ask(AskStatus(), Status, _ASK_S).body).jobs
        finally:
            connection.close()
    found = []
    for job in jobs:
        table, _, version = job.table.rpartition("@")
        if table == name:
            found.append({"name": job.name, "pid": job.pid, "version": int(version)})
    return found


def _print_json(value: Any) -> int:
    write(json.dumps(value, indent=1) + "\n", sys.stdout)
    return 0


def _grid(*columns: str) -> rich.table.Table:
    grid = rich.table.Table(box=None, pad_edge=False)
    for column in columns:
        right = column in ("version", "rows")
        grid.add_column(column, justify="right" if right else "left", overflow="fold")
    return grid
