"""A process that user code forks in a worker has nothing of the worker's, and hears its signals."""

import json
import os
import signal
import socket
import subprocess
import sys
from typing import Any

SCRIPT = """
import json, os, signal, socket, sys
from joader.messages import FromWorker
from joader.wire import Channel
from joader.workers.forks import QUIET, mind_forks

ours, theirs = socket.socketpair()
memory = os.memfd_create("joader-test")
other = os.memfd_create("of the user")
for number in QUIET:
    signal.signal(number, signal.SIG_IGN)
mind_forks(Channel(ours, FromWorker))

def state():
    def readable(descriptor):
        try:
            return os.readlink(f"/proc/self/fd/{descriptor}").split(" ")[0]
        except OSError:
            return "closed"
    found = [signal.getsignal(number) for number in QUIET]
    handlers = [getattr(one, "__name__", None) or str(int(one)) for one in found]
    return {
        "channel": ours.fileno(), "memory": readable(memory), "other": readable(other),
        "handlers": handlers, "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    }

said, saying = os.pipe()
child = os.fork()
if child == 0:
    os.write(saying, json.dumps(state()).encode())
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps([json.loads(os.read(said, 65536)), state()]))
"""


def test_it_lets_go_of_the_daemon_and_of_shared_memory_and_the_worker_does_not() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    forked, worker = json.loads(run.stdout)
    assert forked["channel"] == -1
    assert forked["memory"] == os.devnull
    assert forked["other"].startswith("/memfd:of")
    assert set(forked["handlers"]) == {"default_int_handler", str(int(signal.SIG_DFL))}
    assert worker["channel"] > 0
    assert worker["memory"].startswith("/memfd:joader-")
    assert set(worker["handlers"]) == {str(int(signal.SIG_IGN))}
    assert forked["blocked"] == worker["blocked"] == 0


def test_a_worker_ends_with_all_that_it_has_started() -> None:
    script = """
import os, sys, time
from joader.workers.forks import end_group
os.setsid()
if os.fork() == 0:
    time.sleep(600)
end_group()
"""
    ours, theirs = socket.socketpair()
    with ours:
        worker: Any = subprocess.Popen(
            [sys.executable, "-c", script], pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL
        )
        theirs.close()
        assert worker.wait(60.0) in (0, -signal.SIGKILL)
        # Nobody has the other end any more, so nobody is left.
        ours.settimeout(60.0)
        assert ours.recv(1) == b""
