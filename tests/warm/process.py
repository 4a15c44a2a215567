"""Python processes that start in milliseconds: forked from one that has imported what they need.

`Process` and `run` take what `subprocess.Popen` and `subprocess.run` take. A command that a fork
cannot stand for (flags, an environment that the interpreter or a library reads when it starts)
starts an interpreter of its own, as does every command under JOADER_TESTS_FRESH=1, which
`make test-all` sets. Two parents: for scripts that import torch, and for those that must not.
"""

import atexit
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.warm.parent import HEADER

ROOM = 65536  # bytes that the arguments of a child have, and its environment has at least
PLAIN = (
    *("numpy", "msgspec", "asyncio", "ctypes", "json", "logging", "importlib.metadata"),
    *("joader.daemon.main", "joader.client.loader", "joader.cli.main", "joader.workers.nursery"),
    *("joader.catalog.catalog", "joader.storage.opening", "joader.images.resize"),
    *("rich.console", "rich.table", "rich.live", "uvicorn", "starlette.applications"),
)
TORCH = ("torch", "torch.utils.data", *PLAIN)
# What an interpreter or a library reads when it starts.
EARLY = ("PYTHON", "OMP_", "OPENBLAS", "MKL_", "CUDA", "LD_", "TORCH", "MALLOC", "LC_", "LANG")
LATE = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
TAKEN = {"env", "cwd", "stdin", "stdout", "stderr", "text", "start_new_session"}


class Parent:
    """One parent, started with its first child; it ends with this process."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = ",".join(modules)
        self._sock: socket.socket | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> tuple[int, int]:
        """Send a request; return the two numbers of the answer."""
        body = json.dumps(request).encode()
        with self._lock:
            sock = self._running()
            if descriptors:
                socket.send_fds(sock, [HEADER.pack(len(body))], list(descriptors))
            else:
                sock.sendall(HEADER.pack(len(body)))
            sock.sendall(body)
            answer = sock.recv(8, socket.MSG_WAITALL)
        if len(answer) < 8:
            raise RuntimeError("the parent of warm processes has ended; it says why above")
        pid, status = struct.unpack("<2i", answer)
        return pid, status

    def _running(self) -> socket.socket:
        if self._sock is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._sock, theirs = socket.socketpair()
            path = Path(__file__).with_name("parent.py")
            command = [sys.executable, str(path), str(theirs.fileno()), self._modules, "x" * ROOM]
            # As it was when tests were collected: what a test has set since is no part of it. It
            # imports the joader that the tests themselves import, also from another folder.
            environment = dict(_begun)
            if "PYTHONPATH" in environment:
                paths = environment["PYTHONPATH"].split(os.pathsep)
                environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, paths))
            with theirs:
                process = subprocess.Popen(
                    command,
                    env={**environment, "ROOM": "x" * ROOM},
                    cwd="/",
                    pass_fds=[theirs.fileno()],
                )
            atexit.register(self._close, process)
        return self._sock

    def _close(self, process: "subprocess.Popen[bytes]") -> None:
        if self._sock is not None and self._owner == os.getpid():
            self._sock.shutdown(socket.SHUT_RDWR)  # forks of ours may hold it open
            process.wait(10)


_parents = {False: Parent(PLAIN), True: Parent(TORCH)}
_begun = dict(os.environ)


def fits(command: Any, environment: dict[str, str], paths: bool) -> bool:
    """Tell whether a fork can stand for an interpreter that is started with this."""
    if os.environ.get("JOADER_TESTS_FRESH") or not isinstance(command, list | tuple):
        return False
    if len(command) < 2 or command[0] != sys.executable:
        return False
    if command[1].startswith("-") and command[1] not in ("-m", "-c"):
        return False
    late = (*LATE, "PYTHONPATH") if paths else LATE
    return all(
        environment.get(name) == _begun.get(name)
        for name in {*environment, *_begun}
        if name.startswith(EARLY) and name not in late
    )


class Process(subprocess.Popen[Any]):
    """A process of Python, forked where that makes no difference.

    `torch`: the script imports it. `paths`: PYTHONPATH may differ from ours, as nothing that it
    leads to has been imported yet.
    """

    def __init__(
        self, command: Any, *, torch: bool = False, paths: bool = False, **options: Any
    ) -> None:
        fork = options.keys() <= TAKEN and fits(
            command, options.get("env") or dict(os.environ), paths
        )
        self._parent = _parents[torch] if fork else None
        super().__init__(command, **options)

    def _execute_child(self, *arguments: Any) -> None:
        """Start the child; the signature is that of the standard library's private method."""
        if self._parent is None:
            return super()._execute_child(*arguments)  # type: ignore[misc]
        command, _, _, _, _, folder, environment = arguments[:7]
        pipes, session = arguments[10:16], arguments[21]
        streams = [
            number if given == -1 else given
            for number, given in enumerate((pipes[0], pipes[3], pipes[5]))
        ]
        request = {
            "command": [os.fspath(word) for word in command],
            "environment": {k: os.fspath(v) for k, v in (environment or os.environ).items()},
            "folder": os.fspath(folder or os.getcwd()),
            "session": bool(session),
        }
        self.pid, _ = self._parent.ask(request, streams)
        self._child_created = True
        self._pidfd = os.pidfd_open(self.pid)
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def poll(self) -> int | None:
        if self._parent is None or self.returncode is not None:
            return super().poll()
        return self._look()

    def wait(self, timeout: float | None = None) -> int:
        if self._parent is None or self.returncode is not None:
            return super().wait(timeout)
        select.select([self._pidfd], [], [], timeout)
        code = self._look()
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def _look(self) -> int | None:
        assert self._parent is not None
        pid, status = self._parent.ask({"wait": self.pid})
        if pid:
            os.close(self._pidfd)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def _internal_poll(self, *arguments: Any, **options: Any) -> int | None:
        if self._parent is None or self.returncode is not None:
            return super()._internal_poll(*arguments, **options)  # type: ignore[misc, no-any-return]
        return self._look()


def run(
    command: Any,
    *,
    torch: bool = False,
    paths: bool = False,
    capture_output: bool = False,
    check: bool = False,
    timeout: float | None = None,
    input: str | None = None,
    **options: Any,
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Process(command, torch=torch, paths=paths, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
        code = process.wait()
    if check and code:
        raise subprocess.CalledProcessError(code, command, out, err)
    return subprocess.CompletedProcess(command, code, out, err)
