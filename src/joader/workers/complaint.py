"""What user code raised, as text that can be sent: the step, the file, the whole traceback.

The first line is for the job: the exception's class by name, and its fields, pickled. A class may
be unknown elsewhere, a field may not be picklable, even an exception's `__str__` may raise. So
nothing here trusts the exception: each field is sent or left out by itself, and all sizes are
bounded. The job rebuilds the exception without its `__init__`, whose arguments are unknown. The
daemon passes the text on, and never unpickles it.
"""

import os
import pickle
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from traceback import StackSummary, TracebackException
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, TypeVar

E = TypeVar("E", bound=BaseException)

# Longer texts lose their middle: an exception may quote a whole file.
MOST_CHARACTERS = 20_000
_MOST_FRAMES = 60
MOST_PICKLED_BYTES = 1 << 16  # per exception; fields beyond it are left out
_MOST_DEPTH = 4  # of exceptions in fields of exceptions: causes, groups
_RAISED = "raised "  # begins the first line
_IS_MADE_BY_CODE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def complaint(error: BaseException, step: str, own_file: str, where: str = "worker process") -> str:
    """Return the complaint of an error: its step and file, its fields, its traceback."""
    try:
        told = _traceback(error, own_file)
        named = file_of(error)
    except BaseException as second:  # parts of the exception are user code, too
        told = f"{type(error).__name__} (cannot be shown: {type(second).__name__})\n"
        named = ""
    file = f", on the file {named}" if named else ""
    kind = type(error)
    return (
        f"{_RAISED}{kind.__module__}:{kind.__qualname__}{_pickled(error)}\n"
        f"{step} failed in {where} {os.getpid()}{file}:\n{bounded(told)}"
    )


def without_class(reason: str) -> str:
    """Return a complaint, or any other reason, without its machine-readable first line."""
    return reason.partition("\n")[2] if was_raised(reason) else reason


def was_raised(reason: str) -> bool:
    """Return whether user code raised (and did not end its process or take too long)."""
    return reason.startswith(_RAISED)


def class_of(reason: str) -> type[BaseException] | None:
    """Return the class that was raised, if this process has it; imports nothing."""
    if not was_raised(reason):
        return None
    named = reason.partition("\n")[0].removeprefix(_RAISED).partition(" ")[0]
    module, _, name = named.partition(":")
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def fields_of(reason: str) -> dict[str, Any]:
    """Return the fields that were sent; unpickling them runs the job's own code."""
    packed = reason.partition("\n")[0].removeprefix(_RAISED).partition(" ")[2]
    with suppress(Exception):
        return _unpacked(pickle.loads(b64decode(packed)))
    return {}


def made(kind: type[E], args: tuple[Any, ...], fields: dict[str, Any]) -> E:
    """Build an exception with these fields, without running `__init__`; may raise TypeError."""
    solid: Any = kind  # the class that defines the memory layout of its instances
    while solid.__flags__ & _IS_MADE_BY_CODE:
        solid = solid.__base__
    first = args
    if issubclass(kind, BaseExceptionGroup):
        first = "".join(map(str, args[:1])), fields["exceptions"]
    error: E = solid.__new__(kind, *first)
    for name, value in {**fields, "args": args}.items():
        with suppress(Exception):  # read-only, and set already, such as a group's exceptions
            BaseException.__setattr__(error, name, value)
    return error


def bounded(text: str) -> str:
    """Return a text, without its middle if it is too long."""
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters ...]\n{text[-half:]}"


def _traceback(error: BaseException, own_file: str) -> str:
    """Return the traceback, with those of its causes, without the frames of our own loop."""
    told = TracebackException.from_exception(error)
    chain: list[TracebackException | None] = [told]
    seen = set()
    while chain:
        part = chain.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        frames = [frame for frame in part.stack if frame.filename != own_file]
        if len(frames) > _MOST_FRAMES:  # from an endless recursion
            frames = frames[: _MOST_FRAMES // 2] + frames[-_MOST_FRAMES // 2 :]
        part.stack = StackSummary.from_list(frames)
        chain += [part.__cause__, part.__context__]
    return "".join(told.format())


def file_of(error: BaseException) -> str:
    """Return the file that an error, or a cause of it, names."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        name = getattr(cause, "filename", None)
        if isinstance(name, str | bytes | os.PathLike):
            return os.fsdecode(name)
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__
    return ""


def _fields(error: BaseException) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an exception: those of its class in C, and its own attributes."""
    for kind in type(error).__mro__:
        for name, value in vars(kind).items():
            kept = isinstance(value, MemberDescriptorType | GetSetDescriptorType)
            if kept and not name.startswith("__"):
                with suppress(Exception):
                    yield name, getattr(error, name)
    if error.__cause__ is not None:
        yield "__cause__", error.__cause__
    yield from vars(error).items()


class _Bounded(BytesIO):
    """A file that refuses to grow beyond a bound, so that pickling stops early."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def write(self, data: Any) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise ValueError("too long to send")
        return super().write(data)


class _Pickler(pickle.Pickler):
    """Pickles exceptions inside fields by their class and fields, to a bounded depth."""

    def __init__(self, file: _Bounded, depth: int) -> None:
        super().__init__(file, protocol=5)
        self._depth = depth

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, BaseException):
            return NotImplemented
        if self._depth == _MOST_DEPTH:
            raise ValueError("too deep to send")
        return _made_again, (type(value), _packed(value, self._depth + 1))


def _pickled(error: BaseException) -> str:
    """Return the fields of an exception as the rest of a complaint's first line."""
    try:
        return f" {b64encode(pickle.dumps(_packed(error, 0))).decode()}"
    except Exception:
        return ""


def _packed(error: BaseException, depth: int) -> dict[str, bytes]:
    """Return the fields of an exception that can be sent, each pickled by itself."""
    packed: dict[str, bytes] = {}
    room = MOST_PICKLED_BYTES
    for name, value in _fields(error):
        with suppress(Exception):  # runs code of the value's class
            file = _Bounded(room - len(name))
            _Pickler(file, depth).dump(value)
            packed[name] = file.getvalue()
            room -= len(name) + len(packed[name])
    return packed


def _unpacked(packed: dict[str, bytes]) -> dict[str, Any]:
    fields = {}
    for name, data in packed.items():
        with suppress(Exception):
            fields[name] = pickle.loads(data)
    return fields


def _made_again(kind: type[BaseException], packed: dict[str, bytes]) -> BaseException:
    fields = _unpacked(packed)
    return made(kind, fields.pop("args", ()), fields)
