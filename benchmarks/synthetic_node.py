"""Jobs and workers that do no work: they speak to a real daemon at the rate of a large machine.

One process plays all jobs of a node, their nurseries and all workers. A worker answers when so many
rows would have taken it so long, and writes nothing; a job releases a batch when it has it, and
wants the next. So a daemon can be driven at the rate of 128 cores, on two.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from joader.messages import (
    MY_JOB,
    PROTOCOL,
    Bear,
    Begin,
    Compare,
    Compared,
    Deliver,
    Finish,
    HandBack,
    Hello,
    JobSettings,
    Join,
    NotBegun,
    Place,
    Prepare,
    Prepared,
    Refuse,
    Register,
    Registered,
    Release,
    Sized,
    ToClient,
    ToNursery,
    ToWorker,
    Want,
)
from joader.wire import Stream, connected_to, frame, welcomed

LAYOUT = b"synthetic"
# As a real worker: see REPORT_S in workers/outbox.py.
REPORT_S = 0.02
WRITE_S = 1e-5
WANTS = 4  # batches that a job asks for ahead


@dataclass
class Case:
    """What a node does."""

    jobs: int = 1
    workers: int = 16
    rows: int = 10_000
    batch: int = 256
    row_ms: float = 2.0
    least_kb: float = 150.0
    most_kb: float = 150.0
    own_kb: float = 0.0  # 0: no own part
    own_ms: float = 0.3
    fresh: bool = False
    offset: float = 0.0  # part of a pass between one job's start and the next's
    order: str = "shared"

    def size(self, row: int) -> int:
        """Return how many bytes a row takes."""
        part = (row * 2654435761 % (1 << 32)) / (1 << 32)
        return int(1000 * (self.least_kb + part * (self.most_kb - self.least_kb)))


@dataclass
class Counts:
    """What happened so far."""

    delivered: int = 0
    prepared: int = 0
    own: int = 0
    reports: int = 0
    deliveries: list[float] = field(default_factory=list)
    by_job: Counter[int] = field(default_factory=Counter)


class Peer(asyncio.Protocol):
    """A connection that speaks messages; those of one turn go out in one write."""

    def __init__(self, kinds: Any) -> None:
        self.stream: Stream[Any] = Stream(kinds)
        self.transport: Any = None
        self.frames: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.start()

    def start(self) -> None:
        """Begin."""

    def data_received(self, data: bytes) -> None:
        for message in self.stream.feed(data):
            self.hear(message)

    def hear(self, message: Any) -> None:
        raise NotImplementedError

    def say(self, *messages: Any) -> None:
        if not self.frames:
            asyncio.get_running_loop().call_soon(self.flush)
        self.frames += map(frame, messages)

    def flush(self) -> None:
        self.transport.write(b"".join(self.frames))
        self.frames.clear()


class Worker(Peer):
    """Answers as a worker would that takes row_ms for a row."""

    def __init__(self, case: Case, counts: Counts) -> None:
        super().__init__(ToWorker)
        self.case, self.counts = case, counts
        # (seconds, reply, whether it is of an own part, whether its message ends with it)
        self.queue: deque[tuple[float, Any, bool, bool]] = deque()
        self.sized: dict[int, int] = {}
        self.followers: dict[int, list[tuple[int, int, int]]] = {}  # of what waits for its slot
        self.at_work = False
        self.untold_s = 0.0  # of rows that were only sized: told with the next that are prepared

    def hear(self, message: Any) -> None:
        case = self.case
        match message:
            case Prepare():
                last = len(message.samples) - 1
                row_s = (case.row_ms + message.whole * case.own_ms) / 1000
                self.counts.own += message.whole * len(message.samples)
                for place, (sample, row, offset, room) in enumerate(
                    zip(message.samples, message.rows, message.offsets, message.sizes, strict=True)
                ):
                    size = int(1000 * case.own_kb) if message.whole else case.size(row)
                    reply = self.reply(sample, size, offset, room)
                    self.queue.append((row_s, reply, False, place == last))
            case Finish():
                last = len(message.samples) - 1
                for place, (sample, source, offset, room) in enumerate(
                    zip(
                        message.samples,
                        message.sources,
                        message.offsets,
                        message.sizes,
                        strict=True,
                    )
                ):
                    if source in self.sized:
                        self.followers.setdefault(source, []).append((sample, offset, room))
                    else:
                        self.finish(sample, offset, room, place == last)
            case Place():
                sizes = tuple([self.sized.pop(sample) for sample in message.samples])
                took_s, self.untold_s = self.untold_s + len(sizes) * WRITE_S, 0.0
                self.say(Prepared(message.samples, sizes, (LAYOUT,), took_s))
                for sample in message.samples:
                    for own in self.followers.pop(sample, ()):
                        self.finish(*own, sample == message.samples[-1])
            case Compare():
                self.say(Compared(message.job, message.sample))
            case HandBack():
                self.say(NotBegun(()))
        if self.queue and not self.at_work:
            self.work(asyncio.get_running_loop().time())

    def finish(self, sample: int, offset: int, room: int, ends: bool) -> None:
        reply = self.reply(sample, int(1000 * self.case.own_kb), offset, room)
        self.queue.append((self.case.own_ms / 1000, reply, True, ends))
        self.counts.own += 1

    def reply(self, sample: int, size: int, offset: int, room: int) -> Any:
        if offset < 0 or size > room:
            self.sized[sample] = size
            return Sized((sample,), (size,))
        return Prepared((sample,), (size,), (LAYOUT,))

    def work(self, since: float) -> None:
        """Do the next rows, until it is time to report; late timers do not make it slower."""
        # Seconds and replies of rows, of own parts.
        seconds, done, ends = [0.0, 0.0], ([], []), False
        while self.queue and not ends and (sum(seconds) < REPORT_S):
            row_s, reply, own, ends = self.queue.popleft()
            seconds[own] += row_s
            done[own].append(reply)
        self.at_work = True
        until = since + sum(seconds)
        asyncio.get_running_loop().call_at(until, self.report, until, seconds, done)

    def report(self, until: float, seconds: list[float], done: tuple[list[Any], list[Any]]) -> None:
        self.counts.reports += 1
        for own, (took_s, replies) in enumerate(zip(seconds, done, strict=True)):
            row_s = len(replies) * self.case.row_ms / 1000
            own_s = 0.0 if own else max(0.0, took_s - row_s)  # of rows prepared whole
            prepared = [reply for reply in replies if isinstance(reply, Prepared)]
            if not own:
                took_s, self.untold_s = took_s + self.untold_s, 0.0
                if not prepared:
                    self.untold_s = took_s
            if prepared:
                samples = tuple([reply.samples[0] for reply in prepared])
                sizes = tuple([reply.sizes[0] for reply in prepared])
                self.say(Prepared(samples, sizes, (LAYOUT,), took_s, own_s=own_s))
            sized = [reply for reply in replies if isinstance(reply, Sized)]
            if sized:
                samples = tuple([reply.samples[0] for reply in sized])
                self.say(Sized(samples, tuple([reply.sizes[0] for reply in sized])))
        self.at_work = False
        if self.queue:
            self.work(until)


class Nursery(Peer):
    """Connects workers when it is asked for them."""

    def __init__(self, path: Path, ticket: str, case: Case, counts: Counts) -> None:
        super().__init__(ToNursery)
        self.path, self.ticket, self.case, self.counts = path, ticket, case, counts

    def hear(self, message: Any) -> None:
        if isinstance(message, Bear):
            sock = connected_to(self.path, 30.0)
            # The answer needs the daemon's loop only, which is another process.
            hello = Hello(PROTOCOL, os.getpid(), "worker", self.ticket, message.number)
            _, descriptors = welcomed(sock, hello, 2)
            for descriptor in descriptors:
                os.close(descriptor)
            sock.setblocking(False)
            loop = asyncio.get_running_loop()
            worker = Worker(self.case, self.counts)
            self.task = loop.create_task(_adopt(sock, worker))


async def _adopt(sock: socket.socket, protocol: Peer) -> None:
    await asyncio.get_running_loop().create_connection(lambda: protocol, sock=sock)


class Job(Peer):
    """Reads passes, one after the other, as fast as it gets them."""

    def __init__(self, case: Case, counts: Counts, number: int, registered: asyncio.Event) -> None:
        super().__init__(ToClient)
        self.case, self.counts, self.number = case, counts, number
        self.registered = registered
        self.epoch = self.read = self.wanted = 0

    def start(self) -> None:
        case = self.case
        join = Join(
            MY_JOB,
            "synthetic",
            np.arange(case.rows),
            case.rows,
            case.batch,
            order=case.order,
            fresh=case.fresh,
            own=case.own_kb > 0,
        )
        self.say(
            Register(
                join,
                JobSettings(f"job {self.number}"),
                ticket=f"ticket {self.number}",
                workers=max(1, case.workers // case.jobs),
                compare=False,
            )
        )

    def begin(self) -> None:
        self.say(Begin(MY_JOB, self.epoch, key=1000 * self.number + self.epoch, number=self.epoch))
        self.read = self.wanted = 0
        for _ in range(WANTS):
            self.want()

    def want(self) -> None:
        left = self.case.rows - self.wanted
        if left:
            count = min(self.case.batch, left)
            self.wanted += count
            self.say(Want(MY_JOB, count))

    def hear(self, message: Any) -> None:
        match message:
            case Registered():
                self.registered.set()
            case Refuse():
                sys.exit(f"refused: {message.reason}")
            case Deliver():
                count = len(message.positions)
                if len(message.failed):
                    sys.exit(f"failed: {message.failed[:2]}")
                self.counts.delivered += count
                self.counts.prepared += message.prepared
                self.counts.deliveries.append(time.monotonic())
                self.counts.by_job[self.number] += count
                self.read += count
                self.say(Release(MY_JOB, message.samples))
                self.want()
                if self.read == self.case.rows:
                    self.epoch += 1
                    self.begin()


def cpu_s(pid: int) -> float:
    """Return how much processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def drive(path: Path, pid: int, case: Case, warm_s: float, seconds: float) -> dict[str, Any]:
    """Drive a daemon, and return what it took."""
    counts = Counts()
    loop = asyncio.get_running_loop()
    for number in range(case.jobs):
        sock = connected_to(path, 30.0)
        _, descriptors = welcomed(sock, Hello(PROTOCOL, os.getpid()), 1)
        os.close(descriptors[0])
        sock.setblocking(False)
        registered = asyncio.Event()
        _, job = await loop.create_connection(
            lambda number=number, registered=registered: Job(case, counts, number, registered),
            sock=sock,
        )
        await registered.wait()
        sock = connected_to(path, 30.0)
        welcomed(sock, Hello(PROTOCOL, os.getpid(), "nursery", f"ticket {number}"), 0)
        sock.setblocking(False)
        await loop.create_connection(
            lambda number=number: Nursery(path, f"ticket {number}", case, counts), sock=sock
        )
        job.begin()
        if case.offset and number + 1 < case.jobs:
            await asyncio.sleep(case.offset)
    await asyncio.sleep(warm_s)
    counts.delivered = counts.prepared = counts.own = counts.reports = 0
    counts.deliveries.clear()
    counts.by_job.clear()
    cpu, mine, started = cpu_s(pid), time.process_time(), time.monotonic()
    await asyncio.sleep(seconds)
    wall = time.monotonic() - started
    cpu = cpu_s(pid) - cpu
    return {
        "delivered_per_s": round(counts.delivered / wall),
        "prepared_per_s": round(counts.prepared / wall),
        "slowest_over_fastest": round(
            min(counts.by_job[number] for number in range(case.jobs))
            / max(1, *counts.by_job.values()),
            2,
        ),
        "reports_per_s": round(counts.reports / wall),
        "daemon_cpu": round(cpu / wall, 3),
        "us_per_delivered": round(1e6 * cpu / max(1, counts.delivered), 2),
        "us_per_prepared": round(1e6 * cpu / max(1, counts.prepared), 2),
        "driver_cpu": round((time.process_time() - mine) / wall, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("pid", type=int)
    parser.add_argument("case")
    parser.add_argument("--warm", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    case = Case(**json.loads(given.case))
    figures = asyncio.run(drive(Path(given.path), given.pid, case, given.warm, given.seconds))
    print(json.dumps(figures))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
