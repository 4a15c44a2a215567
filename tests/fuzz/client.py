"""A client that does what a list of steps says, on a raw socket."""

import contextlib
import os
import socket
from pathlib import Path
from typing import Any

import numpy as np

from joader.messages import (
    MY_JOB,
    PROTOCOL,
    Deliver,
    Registered,
    Release,
    ToClient,
    ToNursery,
    Want,
)
from joader.wire import Channel, frame
from tests.fuzz.talk import Step, encoded, registration

_READ_S = 0.05
_ANSWER_S = 20.0


class Client:
    """One connection. Whatever the daemon does to it is right, but for silence after a Register."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(_ANSWER_S)
        self.socket.connect(os.fspath(path))
        # Who says that it is a nursery is asked to bear workers, if its ticket is somebody's.
        self.channel: Channel[object] = Channel(self.socket, ToClient | ToNursery)
        self.batches: list[Deliver] = []
        self.batch_size = 1
        self.positions: np.ndarray[Any, Any] | None = None

    def greet(self, *role: Any) -> None:
        hello = {"type": "Hello", "protocol": PROTOCOL, "pid": os.getpid()}
        hello |= dict(zip(("role", "ticket", "number"), role, strict=False))
        self.socket.sendall(encoded(hello))
        _, descriptors, _, _ = socket.recv_fds(self.socket, 4096, 2)
        for descriptor in descriptors:
            os.close(descriptor)

    def do(self, steps: list[Step]) -> None:
        """Take the steps until the daemon hangs up, and leave."""
        with contextlib.suppress(ConnectionError, TimeoutError):
            match steps[:1]:
                case [("no hello",)]:
                    pass
                case [("as", *role)]:
                    self.greet(*role)
                case _:
                    self.greet()
            for step in steps:
                self.take(step)

    def take(self, step: Step) -> None:
        match step:
            case ("say", fields):
                self.socket.sendall(encoded(fields))
            case ("join", fields):
                self.join(fields)
            case ("many", fields, count):
                self.socket.settimeout(_READ_S)  # who does not read may not be listened to, either
                self.socket.sendall(encoded(fields) * count)
            case ("flip", fields, place, mask):
                data = bytearray(encoded(fields))
                data[place % len(data)] ^= mask
                self.socket.sendall(data)
            case ("cut", fields, count):
                self.socket.sendall(encoded(fields)[:-count])
            case ("lie", length, data):
                self.socket.sendall(length.to_bytes(4, "big") + data)
            case ("bytes", data):
                self.socket.sendall(data)
            case ("next",):
                self.socket.sendall(frame(Want(MY_JOB, self.batch_size, positions=self.positions)))
                self.read()
            case ("read",):
                self.read()
            case ("give back",):
                for batch in self.batches:
                    self.socket.sendall(frame(Release(MY_JOB, batch.samples)))
                self.batches.clear()

    def join(self, fields: dict[str, Any]) -> None:
        if fields.get("order") == "told" and fields["batch_size"] in (1, 4, 8):
            self.positions = np.arange(fields["batch_size"])
        self.batch_size = fields["batch_size"] if fields["batch_size"] in (1, 4, 8) else 1
        self.socket.sendall(encoded(registration(fields)))
        answer = self.channel.receive(_ANSWER_S)
        assert isinstance(answer, Registered) or type(answer).__name__ == "Refuse"

    def read(self) -> None:
        with contextlib.suppress(TimeoutError):
            while True:
                answer = self.channel.receive(_READ_S)
                if isinstance(answer, Deliver):
                    self.batches.append(answer)
                    return

    def close(self) -> None:
        self.socket.close()
