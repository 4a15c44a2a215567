"""The daemon's process, started by the first job or by `joader up`.

The event loop wakes at once when it was idle, and at a steady pace when it is busy. A hundred
workers report ten thousand times per second; if each report woke the loop, each would cost a round
of decisions, while handling them together costs a fraction. So the loop looks for new messages at
most RATE times per second, with BURST looks to spare after a pause. A look after a long round
counts for more, up to MOST: the more there is to do, the more is done together. A single row, or
the first batch of a job, never waits; under load a message waits for a millisecond, or four if the
loop is always busy. What follows from one look (decisions, then writes) is a few callbacks deep and
is done before the next look, so each worker gets one write.

The log is kept short, because a daemon may run for months and logs every job and lost worker. Only
a regular file opened for appending is cut, as the one in the runtime folder is: its writers go on
at the new end. Any other file is not ours to change.

When it ends, a daemon leaves a summary: its figures as JSON, and as one page that can be mailed.
"""

import argparse
import asyncio
import fcntl
import gc
import logging
import os
import selectors
import signal
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from joader.cluster.auto import auto_address
from joader.cluster.leader_address import Address
from joader.config import DaemonConfig, cpu_part, size_in_bytes, write_private
from joader.daemon import experience_file
from joader.daemon.alone import Alone
from joader.daemon.daemon import Daemon
from joader.daemon.door import Door
from joader.daemon.log_format import FORMATS, default_format, event, set_up
from joader.daemon.machine import cgroup, check_memory, default_config
from joader.daemon.start_lock import start_lock
from joader.errors import BadArgument, JoaderError, NoDaemon
from joader.page import summary
from joader.schedule.shares.policies import policy_of
from joader.statistics import RunStatistics, to_json

log = logging.getLogger("joader.daemon")


def main() -> NoReturn:
    """Serve until told to end or idle, then exit the process."""
    parser = argparse.ArgumentParser(prog="joader.daemon")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--memory", type=_size)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--idle", type=float, help="seconds without clients; 0: never ends")
    parser.add_argument("--worker-growth", type=_size, help="replace a larger worker")
    parser.add_argument("--cpu", default="100%")
    parser.add_argument("--policy", default="fair")
    parser.add_argument("--job", type=int, default=0, help="the process that starts it")
    parser.add_argument("--log-format", choices=FORMATS)
    parser.add_argument("--cluster", metavar="HOST:PORT", help="where the cluster's leader is")
    options = parser.parse_args()
    try:
        _be_daemon(options)
    except JoaderError as error:
        sys.exit(f"joader: {error}")
    _end()


def _end() -> NoReturn:
    """Exit at once, without finalizing the interpreter.

    Threads that transfer bytes or allocate memory may be in the middle of a call; finalizing the
    interpreter under them has ended in "double free or corruption".
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a pipe without a reader, or closed
            stream.flush()
    os._exit(0)


# How often the experience file is written: the most that a killed daemon loses.
_KEEP_S = 60.0
# How often a daemon that a job started tries to reach the leader of its cluster.
_JOIN_AGAIN_S = 2.0
# How many allocations trigger garbage collection.
_GARBAGE = 50_000


def _be_daemon(options: argparse.Namespace) -> None:
    config = default_config()
    config = replace(
        config,
        memory_bytes=options.memory or config.memory_bytes,
        workers=config.workers if options.workers is None else options.workers,
        workers_given=options.workers is not None,
        idle_s=config.idle_s if options.idle is None else options.idle,
        worker_growth_bytes=options.worker_growth or 0,
        cpu=cpu_part(options.cpu),
        policy=policy_of(options.policy).name,
        started_by=options.job,
    )
    _check(config)
    set_up(options.log_format or default_format())
    for name in ("joader.daemon", "joader.cluster"):
        logging.getLogger(name).setLevel(logging.INFO)
    # Samples come and go by the thousand without cycles: collection took 8 % of all time.
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    with asyncio.Runner(loop_factory=paced_loop) as runner:
        runner.run(serve(options.socket, config, _leader(options.cluster)))


def _leader(given: str | None) -> Address | None:
    """Return the address of the cluster's leader: the one given, or JOADER_CLUSTER."""
    text = given or os.environ.get("JOADER_CLUSTER", "")
    if not text:
        return None
    return auto_address(os.environ) if text == "auto" else Address.read(text)


def _check(config: DaemonConfig) -> None:
    """Raise BadArgument for settings that no daemon can run with."""
    check_memory(config.memory_bytes)
    if config.workers < 1:
        raise BadArgument(f"--workers={config.workers} is too few: use 1 or more")
    if not 0 <= config.idle_s < float("inf"):
        raise BadArgument(f"--idle={config.idle_s}; give seconds, 0 for a daemon that stays")


def _size(text: str) -> int:
    try:
        return size_in_bytes(text)
    except BadArgument as error:
        raise argparse.ArgumentTypeError(str(error)) from error


async def serve(path: Path, config: DaemonConfig, cluster: Address | None = None) -> None:
    """Run the daemon until a signal, a client or idleness ends it."""
    daemon = Daemon(config)
    joining: asyncio.Future[None] | None = None
    if cluster is not None and config.started_by:
        assert isinstance(daemon.neighbors, Alone)
        daemon.neighbors.joining = True
        joining = asyncio.ensure_future(_join_sometime(daemon, cluster))  # a job waits for us
    elif cluster is not None:
        await daemon.join_cluster(cluster)  # before clients connect: it may fail
    door = Door(path)
    log.info(
        "daemon %d listens at %s, memory %.1f MiB, workers %d",
        *(os.getpid(), path, config.memory_bytes / 2**20, config.workers),
        extra=event(
            "daemon_started",
            pid=os.getpid(),
            socket=str(path),
            memory_bytes=config.memory_bytes,
            workers=config.workers,
            started_by=config.started_by or None,
        ),
    )
    if config.started_by:
        log.info(
            "started by a job, process %d, in its cgroup %s; `joader up` starts a separate daemon",
            *(config.started_by, cgroup() or "/"),
        )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, daemon.drain, door)
    await run(door, daemon)
    if joining is not None:
        joining.cancel()
    write_summary(daemon.run_so_far(), path.parent)
    log.info("daemon %d ends", os.getpid(), extra=event("daemon_ended", pid=os.getpid()))


async def _join_sometime(daemon: Daemon, cluster: Address) -> None:
    """Join a cluster as soon as its leader can be reached; until then the daemon is alone."""
    said = False
    while True:
        try:
            return await daemon.join_cluster(cluster)
        except JoaderError as error:
            if not said:
                log.warning("alone for now: %s", error, extra=event("no_cluster"))
            said = True
        await asyncio.sleep(_JOIN_AGAIN_S)


async def run(door: Door, daemon: Daemon) -> None:
    """Serve until `stop`, then close everything."""
    watching = asyncio.ensure_future(end_when_idle(daemon, door))
    try:
        await daemon.serve(door)
    finally:
        watching.cancel()
        door.close()


async def end_when_idle(daemon: Daemon, door: Door) -> None:
    """End the daemon after `idle_s` without a client, or when its socket file is gone.

    Also cuts the log and writes the experience file now and then.

    The socket file is removed under the lock under which clients start daemons: a client that comes
    before finds it and keeps it alive, one that comes after starts another.
    """
    idle_s = daemon.config.idle_s
    loop = asyncio.get_running_loop()
    kept = loop.time()
    while not daemon.stop.is_set():
        await asyncio.sleep(min(1.0, idle_s / 4) if idle_s else 1.0)
        keep_short(sys.stderr.fileno())
        if loop.time() - kept >= _KEEP_S:
            kept = loop.time()
            experience_file.keep(daemon.pool.dispatch.learning)
        if daemon.reception.clients or daemon.registration.plans_for_others:
            continue
        if not door.visible:  # its folder was removed, or another daemon has its name
            daemon.stop.set()
        elif idle_s and loop.time() - daemon.reception.idle_since >= idle_s:
            # Without waiting for the lock, because clients must be served. The next second is soon
            # enough.
            with suppress(NoDaemon), start_lock(door.path, 0):
                await asyncio.sleep(0.05)  # for clients that connected before the lock
                if daemon.reception.clients == 0:
                    door.hide()
                    daemon.stop.set()


def _forget_the_jobs_signals() -> None:
    """Reset signal handling, which is inherited from the job that started the daemon.

    A mask and ignored signals survive exec: SIGTERM might never arrive.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


RATE = 1000.0


BURST = 32.0


# A look counts for more if the loop was busy for more than 1 / _PARTS of the time.
_PARTS = 6.0


MOST = 4.0


# How many rounds of callbacks run before sockets are polled: decisions, writes, and what they
# schedule. Bounded, because a callback may reschedule itself forever.
_DEEP = 3


Events = list[tuple[selectors.SelectorKey, int]]


class PacedSelector(selectors.EpollSelector):
    """An epoll selector that polls at most RATE times per second in the long run."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Start with all BURST looks to spare."""
        super().__init__()
        self._clock, self._sleep = clock, sleep
        self._looks = BURST  # looks that it may take at once
        self._at = self._woke = clock()  # when that was counted; when it last had something to do
        self._skipped = 0

    def select(self, timeout: float | None = None) -> Events:
        """Return ready sockets; first wait until a look is due, or a callback."""
        if timeout is not None and timeout <= 0:
            self._skipped += 1
            if self._skipped <= _DEEP:
                return []
            self._skipped = 0
            return super().select(0)
        self._skipped = 0
        now = self._clock()
        self._looks = min(BURST, self._looks + (now - self._at) * RATE)
        self._at = now
        counts = min(MOST, max(1.0, _PARTS * (now - self._woke) * RATE))
        if self._looks < counts:
            wait_s = (counts - self._looks) / RATE
            if timeout is not None:
                wait_s = min(wait_s, timeout)
                timeout -= wait_s
            self._sleep(wait_s)
        self._looks -= counts
        events = super().select(timeout)
        self._woke = self._clock()
        return events


def paced_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop with a `PacedSelector`."""
    return asyncio.SelectorEventLoop(PacedSelector())


MOST_BYTES = 16 * 2**20


KEPT_BYTES = 4 * 2**20


def keep_short(descriptor: int, most_bytes: int = MOST_BYTES, kept_bytes: int = KEPT_BYTES) -> None:
    """Cut a log that has grown too long down to its last lines."""
    info = os.fstat(descriptor)
    appends = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
    if info.st_size <= most_bytes or not stat.S_ISREG(info.st_mode) or not appends:
        return
    # Opened again, because our descriptor is write-only.
    with open(f"/proc/self/fd/{descriptor}", "rb") as log:
        log.seek(info.st_size - kept_bytes)
        log.readline()  # the first is most likely half a line
        rest = log.read(kept_bytes)
    cut_bytes = info.st_size - len(rest)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"[joader: {cut_bytes} bytes of older lines were cut]\n".encode() + rest)


def write_summary(run: RunStatistics, folder: Path) -> None:
    """Replace the summary of the previous daemon; an error is only logged."""
    if not run.node.totals.delivered:
        return  # nothing was delivered: keep the previous summary
    try:
        write_private(folder / "summary.json", to_json(run))
        write_private(folder / "summary.html", summary(run).encode())
    except OSError as error:
        log.warning("cannot write a summary to %s: %s", folder, error)


if __name__ == "__main__":  # not for `joader up` in the foreground, which may run under nohup
    _forget_the_jobs_signals()
    main()
