"""Every error joader raises on purpose, in one tree.

    JoaderError
    ├── UserError              the caller asked for something impossible
    │   ├── BadRows            (ValueError)  rows that are not distinct integers in [0, 2**32)
    │   ├── BadArgument        (ValueError)  any other value out of its range
    │   ├── UnknownArgument    (TypeError)   an argument that a loader does not have
    │   ├── UnknownJob         (KeyError)    a job that never joined, or has left
    │   ├── JobExists          (ValueError)  a job that joined twice without finishing its pass
    │   ├── NotEnoughRows      (ValueError)  a draw larger than what the job has left
    │   ├── BadImage           (ValueError)  bytes that cannot be decoded as an image
    │   ├── NoData             (FileNotFoundError) nothing is stored at the given place
    │   ├── BadData            (ValueError)  the stored data is damaged, or of another kind
    │   ├── UnknownRow         (IndexError)  a row that the storage does not have
    │   ├── UnknownColumn      (KeyError)    a column that the storage does not have
    │   ├── UnknownTable       (KeyError)    a table or version that the catalog does not have
    │   ├── TableExists        (ValueError)  a table to be created that already exists
    │   ├── BadPredicate       (ValueError)  a `where` that is not one true-or-false expression
    │   ├── RowFailed          (RuntimeError) the user's code raised while a row was prepared
    │   └── MissingExtra       (ImportError) an optional package that is not installed
    ├── WorldError             the machine cannot provide what was asked
    │   ├── SampleTooLarge     (ValueError)  a sample larger than the whole budget
    │   ├── ReadFailed         (OSError)     stored data that existed cannot be read now
    │   ├── WriteFailed        (OSError)     the catalog cannot be written, or read
    │   ├── NoDaemon           (ConnectionError) no daemon can be reached or started
    │   ├── ConnectionLost     (ConnectionError) the process at the other end is gone
    │   ├── Refusal            (MemoryError) the daemon cannot serve the job; it says what is needed
    │   ├── Overdue            (TimeoutError, RuntimeError) nothing came in time; it says from whom
    │   └── CacheFull          (MemoryError) everything that could be freed is in use now
    └── OurError               a broken invariant: a bug in joader, please report it
        └── BadMessage         (ValueError)  an unexpected message

The leaf says whose fault it is. A message says what happened, the value, what was allowed and what
to do next. Leaves also derive from the built-in error a Python user would expect, so `except
ValueError` keeps working.
"""

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


class JoaderError(Exception):
    """The root of everything joader raises on purpose."""

    def __str__(self) -> str:
        """Show the message as written (KeyError would show its repr)."""
        return str(self.args[0]) if len(self.args) == 1 else super().__str__()


class UserError(JoaderError):
    """Say that the caller asked for something impossible."""


class WorldError(JoaderError):
    """Say that the machine cannot provide what was asked."""


class OurError(JoaderError):
    """Say that an invariant of joader is broken: a bug, please report it."""


class BadRows(UserError, ValueError):
    """Say that rows are not distinct integers in [0, 2**32)."""


class BadArgument(UserError, ValueError):
    """Say that a value is out of its range."""


class UnknownArgument(UserError, TypeError):
    """Say that a loader has no such argument, and which was meant."""


class UnknownJob(UserError, KeyError):
    """Say that a job never joined, or has left."""


class JobExists(UserError, ValueError):
    """Say that a job joined twice without finishing its pass."""


class NotEnoughRows(UserError, ValueError):
    """Say that a draw is larger than what the job has left."""


class BadImage(UserError, ValueError):
    """Say that these bytes cannot be decoded as an image, why, and what to do."""


class NoData(UserError, FileNotFoundError):
    """Say that nothing is stored at the given place."""


class BadData(UserError, ValueError):
    """Say that the stored data is damaged, or of another kind than asked for."""


class UnknownRow(UserError, IndexError):
    """Say that a storage does not have this row, and how many it has."""


class UnknownColumn(UserError, KeyError):
    """Say that a storage does not have this column, and which it has."""


class UnknownTable(UserError, KeyError):
    """Say that the catalog does not have this table or version, and which it has."""


class TableExists(UserError, ValueError):
    """Say that a table with this name already exists."""


class BadPredicate(UserError, ValueError):
    """Say why a `where` is not one true-or-false expression over a table's columns."""


class RowFailed(UserError, RuntimeError):
    """Say that the user's code raised while a row was prepared, with row, step and traceback."""


class MissingExtra(UserError, ImportError):
    """Say that an optional package is not installed, and how to get it."""


class SampleTooLarge(WorldError, ValueError):
    """Say that a sample is larger than the whole budget."""


class CacheFull(WorldError, MemoryError):
    """Say that everything that could be freed is in use now."""


class ReadFailed(WorldError, OSError):
    """Say that stored data that existed cannot be read now."""


class WriteFailed(WorldError, OSError):
    """Say that the catalog cannot be written or read, and where it is."""


class NoDaemon(WorldError, ConnectionError):
    """Say that no daemon can be reached or started."""


class ConnectionLost(WorldError, ConnectionError):
    """Say that the process at the other end is gone."""


class Refusal(WorldError, MemoryError):
    """Say that the daemon cannot serve the job, and what would be needed."""


class Overdue(WorldError, TimeoutError, RuntimeError):
    """Say that nothing came in time, and from whom; torch's loader raises a RuntimeError."""


class BadMessage(OurError, ValueError):
    """Say that a message is unexpected."""


# What messages say to do next.


def size_in_words(count: int) -> str:
    """Return a number of bytes in words."""
    value, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"


def more_memory(least_bytes: int) -> str:
    """Say what gives a daemon at least so much memory, as a command: rounded up, never down."""
    power = 2 if least_bytes >= 2**20 else 1 if least_bytes >= 2**10 else 0
    amount, unit = -(-least_bytes // 2 ** (10 * power)), _UNITS[power] if power else ""
    return f"restart the daemon with `joader up --memory {amount}{unit}`"


def to_install(*extras: str) -> str:
    """Say how to get what is optional.

    From a clone: on package indexes there is no joader of ours, so whose it would be nobody knows.
    """
    return f"pip install '.[{','.join(extras)}]' in a clone of joader"
