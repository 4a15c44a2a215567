"""What user code raised, in words that travel: the step, the file, the whole traceback.

The exception itself does not travel: its class may be unknown elsewhere, it may not be picklable,
even its text may raise. So nothing here trusts it, and what it says has a bound. Its class goes
along by name, so that a job that knows it can raise it.
"""

import os
import sys
from traceback import StackSummary, TracebackException

# More is cut out of the middle: an exception may quote a whole file.
MOST_CHARACTERS = 20_000
_MOST_FRAMES = 60
_RAISED = "raised "  # begins the first line, which names the class


def complaint(error: BaseException, step: str, own_file: str, where: str = "worker process") -> str:
    """Say in which step and on which file an error arose, with its traceback."""
    try:
        told = _traceback(error, own_file)
        named = _file_of(error)
    except BaseException as second:  # a part of the exception is user code, too
        told = f"{type(error).__name__} (it cannot be shown: {type(second).__name__})\n"
        named = ""
    file = f", on the file {named}" if named else ""
    kind = type(error)
    return (
        f"{_RAISED}{kind.__module__}:{kind.__qualname__}\n"
        f"{step} failed in {where} {os.getpid()}{file}:\n{bounded(told)}"
    )


def without_class(reason: str) -> str:
    """Return a complaint, or any other reason, as people are to read it."""
    return reason.partition("\n")[2] if reason.startswith(_RAISED) else reason


def class_of(reason: str) -> type[Exception] | None:
    """Return the class of what was raised, if this process knows it; nothing is imported."""
    if not reason.startswith(_RAISED):
        return None
    module, _, name = reason.partition("\n")[0].removeprefix(_RAISED).partition(":")
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def bounded(text: str) -> str:
    """Return a text with its middle left out where it is too long."""
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters ...]\n{text[-half:]}"


def _traceback(error: BaseException, own_file: str) -> str:
    """Return the traceback, of what caused it too, without the frames of our own loop."""
    told = TracebackException.from_exception(error)
    chain: list[TracebackException | None] = [told]
    seen = set()
    while chain:
        part = chain.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        frames = [frame for frame in part.stack if frame.filename != own_file]
        if len(frames) > _MOST_FRAMES:  # an endless recursion
            frames = frames[: _MOST_FRAMES // 2] + frames[-_MOST_FRAMES // 2 :]
        part.stack = StackSummary.from_list(frames)
        chain += [part.__cause__, part.__context__]
    return "".join(told.format())


def _file_of(error: BaseException) -> str:
    """Return the file an error is about, if it or what caused it says so."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        name = getattr(cause, "filename", None)
        if isinstance(name, str | bytes | os.PathLike):
            return os.fsdecode(name)
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__
    return ""
