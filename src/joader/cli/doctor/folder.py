"""Checks of the runtime folder: can a daemon listen there, and is anything left of an old one."""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from joader.cli.doctor.finding import Finding
from joader.cli.other_daemon import other_daemon
from joader.cli.words import counted, duration
from joader.client.watcher import Watcher
from joader.config import runtime_folder, socket_path
from joader.daemon.lifecycle import connected, log_path
from joader.errors import JoaderError, NoDaemon, Refusal

_TROUBLE = (" ERROR ", "Traceback", '"level": "error"')
_TAIL_BYTES = 1 << 16


def folder() -> Iterator[Finding]:
    """Try to listen in the runtime folder."""
    try:
        place = runtime_folder()
        path = socket_path()
    except JoaderError as error:
        yield Finding("runtime folder", "cannot be used", "bad", str(error))
        return
    trial = place / f"doctor.{os.getpid()}"
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(os.fspath(trial))
        yield Finding("runtime folder", f"{place}; daemons listen at {path}")
    except OSError as error:
        yield Finding(
            *("runtime folder", f"{place} takes no socket: {error}", "bad"),
            "set JOADER_RUNTIME to a short path on a local disk that is yours and has room",
        )
    finally:
        with suppress(OSError):
            trial.unlink()


def daemon() -> Iterator[Finding]:
    """Look at the daemon that runs, or at what one has left."""
    try:
        path = socket_path()
    except JoaderError:
        return  # `folder` has said so
    try:
        with Watcher() as watcher:
            node = watcher.status()
        serves = counted(len(node.jobs), "job")
        yield Finding("daemon", f"process {node.pid}, up {duration(node.uptime_s)}, {serves}")
    except Refusal as refusal:
        yield _refusing(refusal)
    except NoDaemon as error:
        yield from _absent(path, error)
    except JoaderError as error:
        yield Finding("daemon", "does not answer", "bad", f"{error}; `joader down --force` ends it")
    yield from _log()


def _refusing(refusal: Refusal) -> Finding:
    try:
        return Finding("daemon", "of another version", "bad", str(other_daemon(refusal)))
    except Refusal as error:
        return Finding("daemon", "refuses us", "bad", str(error))


def _absent(path: Path, error: NoDaemon) -> Iterator[Finding]:
    if not path.exists():
        yield Finding("daemon", "none runs; the first job starts one")
        return
    sock = None
    with suppress(OSError, JoaderError):
        sock = connected(path)
    if sock is not None:
        sock.close()
        yield Finding("daemon", "hangs", "bad", f"{error}; look at its process and end it")
    elif path.is_socket():
        yield Finding(
            *("leftovers", f"{path} is of a daemon that was killed", "ok"),
            "nothing: the next daemon takes its place",
        )
    else:
        yield Finding("leftovers", f"{path} is not a socket", "bad", "remove it")


def _log() -> Iterator[Finding]:
    try:
        with log_path().open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except (OSError, JoaderError):
        return
    bad = [line for line in lines if any(word in line for word in _TROUBLE)]
    if bad:
        yield Finding(
            *("log", f"{counted(len(bad), 'error')}, the last: {bad[-1][:80]}", "warn"),
            f"read {log_path()}, and report what is a bug",
        )
    else:
        yield Finding("log", str(log_path()))
