"""No process is forked while a thread is inside a library that a fork would break."""

import os
import threading

import pytest

from joader.storage.fork_gate import ForkGate

WAIT_S = 60.0


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_a_fork_waits_for_the_thread_that_is_inside() -> None:
    gate = ForkGate()
    inside, forking, forked = threading.Event(), threading.Event(), threading.Event()
    may_leave = threading.Event()
    was_forked: list[bool] = []

    def read() -> None:
        with gate:
            inside.set()
            assert may_leave.wait(WAIT_S)
            was_forked.append(forked.is_set())

    reader = threading.Thread(target=read)
    reader.start()
    assert inside.wait(WAIT_S)

    def leave_once_it_waits() -> None:
        assert forking.wait(WAIT_S)
        # Shut, the gate waits with its condition: somebody is in the list of those who wait.
        while not (gate._change._waiters or forked.is_set()):  # type: ignore[attr-defined]
            pass
        may_leave.set()

    helper = threading.Thread(target=leave_once_it_waits)
    helper.start()
    forking.set()
    child = os.fork()
    if child == 0:
        # Nobody is inside here, and the gate is open.
        with gate:
            os._exit(7)
    forked.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    for thread in (reader, helper):
        thread.join(WAIT_S)
    assert was_forked == [False]


def test_several_threads_may_be_inside_at_a_time() -> None:
    gate, together = ForkGate(), threading.Barrier(2)

    def read() -> None:
        with gate:
            together.wait(WAIT_S)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert not together.broken
    assert gate._inside == 0
