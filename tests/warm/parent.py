"""The parent of warm processes: imports what most scripts import, then forks a child per script.

Started by `process.py` as `python parent.py SOCKET MODULES ROOM`. A child becomes what a fresh
interpreter would have become: arguments, environment, folder, import path, `__main__` and standard
streams are its own, also for who looks into /proc, and it ends as an interpreter ends. What it
shares with its siblings: the seed of hashes, and the addresses of what was imported.

This process has no thread of Python's, and runs no code of a script.
"""

import builtins
import ctypes
import gc
import importlib
import io
import json
import os
import random
import runpy
import signal
import socket
import struct
import sys
import traceback
import types
import warnings
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from typing import Any

HEADER = struct.Struct("<I")

_interrupt = signal.getsignal(signal.SIGINT)  # ignored in a shell's background job


def received(sock: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next request with its descriptors; None if nobody will ask again."""
    head, descriptors, _, _ = socket.recv_fds(sock, HEADER.size, 3)
    if not head:
        return None
    (length,) = HEADER.unpack(head)
    body = b""
    while len(body) < length:
        body += sock.recv(length - len(body))
    return json.loads(body), descriptors


def ended(pid: int) -> list[int]:
    """Return how a child ended, as waitpid does; zeros while it has not."""
    try:
        return list(os.waitpid(pid, os.WNOHANG))
    except ChildProcessError:
        return [pid, 0]


def serve(sock: socket.socket) -> dict[str, Any]:
    """Fork children until nobody asks any more; return in each child, with what it is to be."""
    while (request := received(sock)) is not None:
        asked, descriptors = request
        if "wait" in asked:
            answer = ended(asked["wait"])
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # threads that NumPy keeps
                pid = os.fork()
            if pid == 0:
                take_streams(descriptors)
                return asked
            answer = [pid, 0]
        for descriptor in descriptors:
            os.close(descriptor)
        sock.sendall(struct.pack("<2i", *answer))
    os._exit(0)


def take_streams(descriptors: list[int]) -> None:
    """Have the three descriptors as standard streams, and no other."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(3, 1024)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, f"__{name}__")  # knows whether it could seek; a pipe cannot
        stream = io.TextIOWrapper(
            open(number, "wb" if number else "rb", closefd=False),  # noqa: SIM115
            encoding=old.encoding,
            errors=old.errors,
            newline="\n" if number else None,
            line_buffering=number == 2 or os.isatty(number),
        )
        stream.mode = "w" if number else "r"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def become(asked: dict[str, Any]) -> None:
    """Take the surroundings of a script for one's own."""
    if asked["session"]:
        os.setsid()
    signal.signal(signal.SIGINT, _interrupt)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    show(asked["command"], asked["environment"])
    sys.orig_argv[:] = asked["command"]
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(random.getrandbits(32))  # `random` has a new one by itself


def show(command: list[str], environment: dict[str, str]) -> None:
    """Write arguments and environment where the kernel reads them for /proc; there is room."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    begin, middle, _, end = map(int, fields[45:49])
    texts = os.fsencode("".join(f"{word}\0" for word in command))
    pairs = os.fsencode("".join(f"{name}={value}\0" for name, value in environment.items()))
    if len(texts) > middle - begin or len(pairs) > end - middle:
        raise ValueError("there is no room for the arguments or the environment: raise ROOM")
    ctypes.memmove(begin, texts.ljust(middle - begin, b"\0"), middle - begin)
    ctypes.memmove(middle, pairs.ljust(end - middle, b"\0"), end - middle)


def import_path(first: str, base: list[str]) -> list[str]:
    """Return the import path of an interpreter that was started in this environment."""
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return list(dict.fromkeys([first, *map(os.path.abspath, named), *base]))


def run(words: list[str], base: list[str]) -> None:
    """Be the script, module or text that the words of a command name."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __spec__=None, __annotations__={})
    sys.modules["__main__"] = main
    if "__mp_main__" in sys.modules:  # multiprocessing calls it so when it is imported
        sys.modules["__mp_main__"] = main
    kind, *rest = words
    if kind == "-m":
        module, *arguments = rest
        sys.argv[:] = ["-m", *arguments]
        sys.path[:] = import_path(os.getcwd(), base)
        sys.modules.pop(module, None)
        runpy._run_module_as_main(module)
    elif kind == "-c":
        text, *arguments = rest
        sys.argv[:] = ["-c", *arguments]
        sys.path[:] = import_path("", base)
        exec(compile(text, "<string>", "exec"), main.__dict__)
    else:
        path = os.path.abspath(kind)
        sys.argv[:] = words
        sys.path[:] = import_path(os.path.dirname(os.path.realpath(kind)), base)
        loader = SourceFileLoader("__main__", path)
        main.__dict__.update(__file__=path, __cached__=None, __loader__=loader)
        with open(path, "rb") as file:
            text = file.read()
        exec(compile(text, path, "exec"), main.__dict__)


def live(asked: dict[str, Any], base: list[str]) -> None:
    """Be a script, and tell what it raises as the interpreter does, without our own frames."""
    become(asked)
    try:
        run(asked["command"][1:], base)
    except Exception as error:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        with suppress(AttributeError):
            del sys.last_value
        sys.exit(1)


def prepare(modules: list[str]) -> None:
    """Import what children need, and let the collector leave it alone."""
    for name in filter(None, modules):
        with suppress(ImportError):  # an extra that is not installed
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or the end of each child looks at all of it, and copies its pages: 0.1 s


if __name__ == "__main__":
    number, names, _ = sys.argv[1:]
    ours = os.environ.get("PYTHONPATH", "").split(os.pathsep)  # a child has its own
    path = [folder for folder in sys.path[1:] if folder not in ours]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for who asks
    try:
        prepare(names.split(","))
        work = serve(socket.socket(fileno=int(number)))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    live(work, path)
