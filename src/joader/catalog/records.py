"""What the catalog knows: tables, where their rows come from, and versions, in one SQLite file.

A *table* has a name and a uid; the name may be used again after a drop, the uid never. A *source*
is a place that rows were taken from. A *segment* is a run of rows taken at one time: it has the
row numbers [first_row, first_row + rows) forever. A *version* says which rows there are, and which
files (blocks.py) hold the columns of each segment. Only the newest version's number and a table's
name ever change; versions and segments are only added.

Invariant: a version becomes visible in one transaction, after all files it names are on disk. So a
reader, or the next writer after a crash, finds a version whole or not at all.

SQLite keeps a rollback journal, not a write-ahead log: a log needs shared memory, which home
folders on a network do not have, and writes here are rare and small.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from joader.errors import UnknownTable, WriteFailed

FORM = 1  # of the database; goes up when an older joader could not read it
BUSY_S = 60.0
_TABLES = """
CREATE TABLE IF NOT EXISTS tables (uid TEXT PRIMARY KEY, name TEXT UNIQUE NOT NULL, newest INTEGER);
CREATE TABLE IF NOT EXISTS sources (uid TEXT, number INTEGER, body BLOB, PRIMARY KEY (uid, number));
CREATE TABLE IF NOT EXISTS segments
    (uid TEXT, number INTEGER, body BLOB, PRIMARY KEY (uid, number));
CREATE TABLE IF NOT EXISTS versions
    (uid TEXT, number INTEGER, body BLOB, states BLOB, PRIMARY KEY (uid, number));
"""


class Source(msgspec.Struct, frozen=True):
    """A place that rows are taken from: what `open_storage` needs to open it again."""

    kind: str
    place: str | list[str] | dict[str, str] | None  # None: files that were named one by one
    options: dict[str, Any] = {}
    root: str = ""  # if each file is a row: the folder or URL that paths start from


class Unit(msgspec.Struct, frozen=True):
    """Files that hold many rows and are checked as a whole."""

    paths: dict[str, str] | list[str]
    stamps: list[tuple[int, str]]  # size, and time of change or tag, of each
    rows: int


class Segment(msgspec.Struct, frozen=True):
    """Rows that were taken from a source at one time."""

    number: int
    first_row: int
    rows: int
    source: int
    block: str  # the file with the columns it began with
    units: list[Unit] = []  # none if each row is a file


class Version(msgspec.Struct, frozen=True):
    """The state of a table at one time."""

    number: int
    made_at: float
    what: str  # how it differs from the one before, in words
    rows: int
    next_row: int  # the first number that no row has had yet
    columns: dict[str, str]  # in the row table, with their types
    stored: dict[str, str | None]  # left where they are
    sample: list[str]  # which of both make up a sample by default
    classes: list[str]  # names by label, of folders of classes
    blocks: list[list[str]]  # of each segment: its files, later ones over earlier ones
    measured: str = ""  # the column whose images' widths and heights are kept


class Records:
    """The database in a catalog's folder."""

    def __init__(self, folder: Path) -> None:
        """Open nothing yet."""
        self.path = folder / "catalog.sqlite"

    def names(self) -> list[str]:
        """Return the tables' names, sorted."""
        return [name for (name,) in self._rows("SELECT name FROM tables ORDER BY name")]

    def find(self, name: str) -> tuple[str, int] | None:
        """Return a table's uid and the number of its newest version."""
        found = self._rows("SELECT uid, newest FROM tables WHERE name = ?", name)
        return (found[0][0], found[0][1]) if found else None

    def newest(self, uid: str) -> int | None:
        """Return the number of a table's newest version; None when it was dropped."""
        found = self._rows("SELECT newest FROM tables WHERE uid = ?", uid)
        return found[0][0] if found else None

    def version(self, uid: str, number: int) -> tuple[Version, bytes | None]:
        """Return a version, and the states of its rows as they are kept (snapshot.py)."""
        found = self._rows(
            "SELECT body, states FROM versions WHERE uid = ? AND number = ?", uid, number
        )
        if not found:
            numbers = [version.number for version in self.versions(uid)]
            there = f"they are 1 to {numbers[-1]}" if numbers else "it was dropped"
            raise UnknownTable(f"the table has no version {number}; {there}")
        return msgspec.json.decode(found[0][0], type=Version), found[0][1]

    def versions(self, uid: str) -> list[Version]:
        """Return all versions of a table, oldest first."""
        bodies = self._rows("SELECT body FROM versions WHERE uid = ? ORDER BY number", uid)
        return [msgspec.json.decode(body, type=Version) for (body,) in bodies]

    def sources(self, uid: str) -> list[Source]:
        """Return the sources of a table, by number."""
        bodies = self._rows("SELECT body FROM sources WHERE uid = ? ORDER BY number", uid)
        return [msgspec.json.decode(body, type=Source) for (body,) in bodies]

    def segments(self, uid: str) -> list[Segment]:
        """Return the segments of a table, including those of no current version."""
        bodies = self._rows("SELECT body FROM segments WHERE uid = ? ORDER BY number", uid)
        return [msgspec.json.decode(body, type=Segment) for (body,) in bodies]

    def files(self, name: str) -> set[str]:
        """Return the files that versions of a table need."""
        found = self.find(name)
        if found is None:
            return set()
        blocks = [files for version in self.versions(found[0]) for files in version.blocks]
        return {file for files in blocks for file in files}

    def add(
        self,
        name: str,
        uid: str,
        version: Version,
        states: bytes | None,
        sources: Sequence[Source] = (),
        segments: Sequence[Segment] = (),
    ) -> None:
        """Make a version visible, and with the first one the table: all or nothing."""
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO tables VALUES (?, ?, 0)", (uid, name))
            (first,) = database.execute(
                "SELECT count(*) FROM sources WHERE uid = ?", (uid,)
            ).fetchone()
            for number, source in enumerate(sources, first):
                body = msgspec.json.encode(source)
                database.execute("INSERT INTO sources VALUES (?, ?, ?)", (uid, number, body))
            for segment in segments:
                body = msgspec.json.encode(segment)
                database.execute(
                    "INSERT INTO segments VALUES (?, ?, ?)", (uid, segment.number, body)
                )
            database.execute(
                "INSERT INTO versions VALUES (?, ?, ?, ?)",
                (uid, version.number, msgspec.json.encode(version), states),
            )
            database.execute("UPDATE tables SET newest = ? WHERE uid = ?", (version.number, uid))

    def forget(self, uid: str) -> None:
        """Forget a table with all its versions."""
        with self._transaction() as database:
            for kind in ("tables", "sources", "segments", "versions"):
                database.execute(f"DELETE FROM {kind} WHERE uid = ?", (uid,))

    def _rows(self, query: str, *values: Any) -> list[Any]:
        if not self.path.exists():
            return []
        try:
            # Not "mode=ro": the next reader has to roll back what a killed writer left.
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as database:
                return database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            if "no such table" in str(error):  # made by a writer that was killed at once
                return []
            raise self._failed(error) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
            with closing(connection) as database:
                database.execute("BEGIN IMMEDIATE")
                self._check_form(database)
                for statement in _TABLES.split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {FORM}")
                yield database
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _check_form(self, database: sqlite3.Connection) -> None:
        (form,) = database.execute("PRAGMA user_version").fetchone()
        if form > FORM:
            raise WriteFailed(
                f"{self.path} was written by a newer joader (it has format {form}, this joader "
                f"knows {FORM}); install the newer one"
            )

    def _failed(self, error: sqlite3.Error) -> WriteFailed:
        return WriteFailed(
            f"the catalog {self.path} cannot be used: {error}; make sure that the folder is "
            "writable and the disk has room, or set JOADER_CATALOG to another folder"
        )
