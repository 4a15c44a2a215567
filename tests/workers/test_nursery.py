"""Nurseries and workers as processes: what they have of their job, and when they end."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from joader.errors import ConnectionLost
from joader.messages import (
    Bear,
    Ended,
    Failed,
    Prepared,
    Slay,
    Stop,
)
from joader.workers.nursery import _leave_to_the_job
from tests.orders import prepare
from tests.processes.jobs import wait_until
from tests.workers.house import SLOT_BYTES, Guest, House, state_of, wait_until_gone

QUIET = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


def ended(guest: Guest) -> list[Ended | Stop]:
    """Return what a nursery says until it hangs up."""
    told = []
    try:
        while True:
            told.append(guest.hears())
    except ConnectionLost:
        return told


# What they do.


def test_a_nursery_comes_with_its_ticket_and_bears_workers_that_prepare_rows(house: House) -> None:
    job = house.job()
    nursery_pid = job.line()
    nursery = house.guest()
    assert nursery.pid == nursery_pid
    assert nursery.hello.role == "nursery"
    workers = [house.bear(nursery, number) for number in (0, 1)]
    assert {worker.hello.ticket for worker in workers} == {nursery.hello.ticket}
    for number, worker in enumerate(workers):
        assert isinstance(house.cook(worker, 40 + number, number), Prepared)
    values = house.arena.view.view(np.int64)
    assert values[:8].tolist() == [40] * 8
    assert values[SLOT_BYTES // 8 : SLOT_BYTES // 8 + 8].tolist() == [41] * 8


@pytest.mark.parametrize(
    ("what", "code"), [("os._exit(3)", 3), ("os.kill(os.getpid(), 11)", -11), ("os.abort()", -6)]
)
def test_it_says_how_a_worker_ended(house: House, what: str, code: int) -> None:
    house.job(f"""
class Deadly(Rows):
    def __getitem__(self, row):
        {what}

nursery = born(Deadly())
nursery.attend(sys.argv[1], 1)
wait()
""")
    nursery = house.guest()
    worker = house.bear(nursery, 5)
    worker.say(prepare(0, 0, 0, SLOT_BYTES))
    assert nursery.hears() == Ended(5, worker.pid, code)


def test_it_kills_the_worker_that_it_is_told_to_and_bears_others(house: House) -> None:
    house.job()
    nursery = house.guest()
    first, second = house.bear(nursery, 0), house.bear(nursery, 1)
    nursery.say(Slay(0), Slay(7))
    assert nursery.hears() == Ended(0, first.pid, -9)
    assert isinstance(house.cook(second, 3), Prepared)
    third = house.bear(nursery, 0)
    assert isinstance(house.cook(third, 4), Prepared)


def test_workers_have_the_state_of_the_job_at_the_moment_it_was_born(house: House) -> None:
    job = house.job("""
import joader.errors
joader.errors.marked = [1]
class Marked(Rows):
    def __getitem__(self, row):
        return np.array(joader.errors.marked)
nursery = born(Marked())
joader.errors.marked = [1, 2]
nursery.attend(sys.argv[1], 1)
say("changed")
wait()
""")
    assert job.line() == "changed"
    worker = house.bear(house.guest())
    assert house.cook(worker, 0).sizes == (8,)


def test_a_worker_that_cannot_get_ready_says_so_for_its_row(house: House) -> None:
    house.job("""
def init(number):
    raise OSError("no license")
nursery = born(worker_init_fn=init)
nursery.attend(sys.argv[1], 1)
wait()
""")
    report = house.cook(house.bear(house.guest()), 0)
    assert isinstance(report, Failed)
    assert report.reason.startswith("raised builtins:OSError ")


# Signals.


def test_it_has_a_session_of_its_own_and_each_worker_a_process_group(house: House) -> None:
    job = house.job()
    nursery = house.guest()
    worker = house.bear(nursery)
    assert os.getsid(nursery.pid) == nursery.pid != os.getsid(job.process.pid)
    assert os.getpgid(worker.pid) == worker.pid
    assert os.getsid(worker.pid) == nursery.pid


@pytest.mark.parametrize("number", QUIET)
def test_what_is_sent_to_all_processes_of_a_job_ends_no_nursery_and_no_worker(
    house: House, number: signal.Signals
) -> None:
    house.job("""
for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):  # the job has handlers of its own
    signal.signal(number, lambda *_: os._exit(7))
nursery = born()
nursery.attend(sys.argv[1], 1)
wait()
""")
    nursery = house.guest()
    worker = house.bear(nursery)
    os.kill(nursery.pid, number)
    os.kill(worker.pid, number)
    assert isinstance(house.cook(worker, 3), Prepared)
    assert isinstance(house.cook(house.bear(nursery, 1), 3), Prepared)


def test_programs_that_user_code_runs_can_be_interrupted_as_ever(house: House) -> None:
    house.job("""
import subprocess
class Runs(Rows):
    def __getitem__(self, row):
        code = "import signal; signal.raise_signal(signal.SIGTERM)"
        return np.array([subprocess.run([sys.executable, "-c", code]).returncode])
nursery = born(Runs())
nursery.attend(sys.argv[1], 1)
wait()
""")
    worker = house.bear(house.guest())
    assert isinstance(house.cook(worker, 0), Prepared)
    assert house.arena.view.view(np.int64)[0] == -signal.SIGTERM


def test_signals_that_the_job_has_blocked_are_not_blocked_there(house: House) -> None:
    house.job("""
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGCHLD])
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
nursery = born()
nursery.attend(sys.argv[1], 1)
wait()
""")
    nursery = house.guest()
    worker = house.bear(nursery)

    def blocked() -> int:
        status = Path(f"/proc/{worker.pid}/status").read_text()
        masks = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Sig"))
        return int(masks["SigBlk"], 16)

    wait_until(lambda: blocked() == 0)  # the C library blocks all for a moment to start a thread
    os.kill(worker.pid, signal.SIGKILL)
    assert nursery.hears() == Ended(0, worker.pid, -9)


# Ends.


def test_it_ends_with_its_job_that_is_killed_and_so_do_its_workers(house: House) -> None:
    job = house.job()
    nursery = house.guest()
    worker = house.bear(nursery)
    job.kill(signal.SIGKILL)
    wait_until_gone(nursery.pid, worker.pid)


def test_it_does_so_while_a_worker_is_in_the_middle_of_a_row_and_does_not_listen(
    house: House,
) -> None:
    job = house.job("""
import subprocess
class Hangs(Rows):
    def __getitem__(self, row):
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
        child = subprocess.Popen(["sleep", "600"])
        say(child.pid)
        time.sleep(600)
nursery = born(Hangs())
nursery.attend(sys.argv[1], 1)
wait()
""")
    nursery = house.guest()
    worker = house.bear(nursery)
    worker.say(prepare(0, 0, 0, SLOT_BYTES))
    sleeps = job.line()
    job.kill(signal.SIGKILL)
    wait_until_gone(nursery.pid, worker.pid, sleeps)


def test_a_child_that_the_job_has_forked_and_that_stays_keeps_no_nursery(house: House) -> None:
    job = house.job("""
nursery = born()
nursery.attend(sys.argv[1], 1)
child = os.fork()
if child == 0:
    time.sleep(600)
    os._exit(0)
say(child)
wait()
""")
    child = job.line()
    nursery = house.guest()
    worker = house.bear(nursery)
    try:
        job.kill(signal.SIGKILL)
        wait_until_gone(nursery.pid, worker.pid)
        assert state_of(child) != "Z"
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_thread_that_has_begun_a_pass_and_is_gone_takes_nothing_with_it(house: House) -> None:
    house.job("""
import threading
made = []
thread = threading.Thread(target=lambda: made.append(born()))
thread.start()
thread.join()
made[0].attend(sys.argv[1], 1)
wait()
""")
    nursery = house.guest()
    worker = house.bear(nursery)
    assert isinstance(house.cook(worker, 3), Prepared)


def test_workers_die_with_a_nursery_that_is_killed(house: House) -> None:
    house.job()
    nursery = house.guest()
    workers = [house.bear(nursery, number) for number in range(2)]
    os.kill(nursery.pid, signal.SIGKILL)
    wait_until_gone(*(worker.pid for worker in workers))  # their connection is still open


def test_workers_of_a_nursery_that_was_stopped_go_on(house: House) -> None:
    house.job()
    nursery = house.guest()
    worker = house.bear(nursery)
    os.kill(nursery.pid, signal.SIGSTOP)
    wait_until(lambda: state_of(nursery.pid) == "T")
    assert isinstance(house.cook(worker, 3), Prepared)
    nursery.say(Bear(1))
    os.kill(nursery.pid, signal.SIGCONT)
    assert house.guest().hello.number == 1


def test_it_runs_nothing_at_its_end_that_is_the_jobs(house: House) -> None:
    job = house.job("""
import atexit, gc
atexit.register(lambda: open("at exit", "a").write(f"{os.getpid()}\\n"))
class Closed:
    def __del__(self):
        with open("deleted", "a") as file:
            file.write(f"{os.getpid()}\\n")
kept, ring = Closed(), [Closed()]
ring.append(ring)
file = open("unflushed", "w")
file.write("once")
nursery = born()
nursery.attend(sys.argv[1], 1)
wait()
nursery.end()
file.close()
del kept, ring
gc.collect()
""")
    nursery = house.guest()
    worker = house.bear(nursery)
    job.say("go on")
    job.result()
    wait_until_gone(nursery.pid, worker.pid)
    mine = [str(job.process.pid)]
    assert (house.folder / "at exit").read_text().split() == mine
    assert (house.folder / "deleted").read_text().split() == mine * 2
    assert (house.folder / "unflushed").read_text() == "once"


def test_a_job_that_ends_by_itself_leaves_nothing_running(house: House) -> None:
    job = house.job()
    nursery = house.guest()
    worker = house.bear(nursery)
    job.say("go on")
    job.result()
    wait_until_gone(nursery.pid, worker.pid)


# Daemons.


def test_it_outlives_the_daemon_and_serves_the_next(house: House, tmp_path: Path) -> None:
    other = House(tmp_path, "other door")
    job = house.job(f"""
nursery = born()
nursery.attend(sys.argv[1], 1)
wait()
nursery.attend({str(other.path)!r}, 2)
nursery.attend({str(other.path)!r}, 2)  # it does already
wait()
""")
    try:
        nursery = house.guest()
        worker = house.bear(nursery)
        nursery.close()
        wait_until_gone(worker.pid)
        assert state_of(nursery.pid) != "Z"
        job.say("go on")
        again = other.guest()
        assert again.pid == nursery.pid
        assert isinstance(other.cook(other.bear(again), 3), Prepared)
    finally:
        other.close()


@pytest.mark.parametrize("hangs_up", [False, True])
def test_it_leaves_the_daemon_that_sends_it_away_with_all_workers(
    house: House, hangs_up: bool
) -> None:
    house.job()
    nursery = house.guest()
    workers = [house.bear(nursery, number) for number in range(2)]
    if hangs_up:
        nursery.close()
    else:
        nursery.say(Stop())
        said = ended(nursery)
        assert isinstance(said[0], Stop)  # so nobody takes their end for an accident
        assert {told.number for told in said[1:]} == {0, 1}
    wait_until_gone(*(worker.pid for worker in workers))
    assert state_of(nursery.pid) != "Z"


def test_a_worker_that_is_turned_away_ends(house: House) -> None:
    house.job()
    nursery = house.guest()
    nursery.say(Bear(0))
    house.turn_away("nobody has asked for you")
    told = nursery.hears()
    assert (told.number, told.code) == (0, 1)


# What they keep.


def links_of(pid: int) -> list[str]:
    """Return what the descriptors of a process lead to."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except OSError:
            continue
    return found


def test_a_worker_has_no_socket_but_its_own(house: House) -> None:
    house.job()
    nursery = house.guest()
    house.bear(nursery, 0)
    worker = house.bear(nursery, 1)
    house.cook(worker, 0)
    sockets = [link for link in links_of(worker.pid) if link.startswith("socket:")]
    assert len(sockets) == 1
    assert not [link for link in links_of(worker.pid) if "pidfd" in link]


def test_connections_of_the_job_are_not_kept_open_by_its_nursery(house: House) -> None:
    job = house.job("""
import socket
from joader.client.reading.births import descriptors_to_close
class Holder:
    def descriptors(self):
        return [ours.fileno()]
holder = Holder()
ours, theirs = socket.socketpair()
descriptors_to_close.add(holder)
nursery = born()
nursery.attend(sys.argv[1], 1)
wait()
ours.close()
theirs.settimeout(20)
say(theirs.recv(1) == b"")  # nobody else has it
wait()
""")
    nursery = house.guest()
    house.bear(nursery)
    job.say("go on")
    assert job.line() is True


def test_a_second_nursery_keeps_nothing_of_the_first(house: House) -> None:
    job = house.job("""
first = born()
first.attend(sys.argv[1], 1)
second = born()
second.attend(sys.argv[1], 1)
say([first._process.pid, second._process.pid])
wait()
first.end()
say(first.alive)
wait()
""")
    pids = job.line()
    nurseries = {guest.pid: guest for guest in (house.guest(), house.guest())}
    worker = house.bear(nurseries[pids[0]])
    job.say("go on")
    assert job.line() is False
    wait_until_gone(pids[0], worker.pid)
    assert state_of(pids[1]) != "Z"


def test_what_is_the_jobs_is_replaced_and_what_has_the_number_may_close_it(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    code = f"""
import os
from joader.workers.nursery import _leave_to_the_job
_leave_to_the_job(({writer}, 999))
print(os.readlink("/proc/self/fd/{writer}"), os.get_inheritable({writer}))
os.close({writer})
"""
    done = subprocess.run(
        [sys.executable, "-c", code], pass_fds=[writer], capture_output=True, text=True, check=True
    )
    os.close(writer)
    assert done.stdout.split() == ["/dev/null", "False"]
    assert select.select([reader], [], [], 5)[0]  # nobody has the other end
    os.close(reader)


def test_leaving_nothing_to_the_job_is_no_trouble() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    _leave_to_the_job(())
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_user_code_may_start_processes_of_its_own_and_end_them(house: House) -> None:
    house.job("""
import multiprocessing
class Starts(Rows):
    def __getitem__(self, row):
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
        child.start()
        child.terminate()
        child.join(2)
        code = child.exitcode
        child.kill()
        return np.array([0 if code is None else code])
nursery = born(Starts())
nursery.attend(sys.argv[1], 1)
wait()
""")
    worker = house.bear(house.guest())
    assert isinstance(house.cook(worker, 6), Prepared)
    assert house.arena.view.view(np.int64)[0] == -signal.SIGTERM


def test_a_process_that_user_code_forks_and_that_comes_back_ends_there(house: House) -> None:
    job = house.job("""
class Forks(Rows):
    def __getitem__(self, row):
        if os.fork() == 0:
            say(os.getpid())
        return np.full(8, row)
nursery = born(Forks())
nursery.attend(sys.argv[1], 1)
wait()
""")
    worker = house.bear(house.guest())
    assert isinstance(house.cook(worker, 6), Prepared)
    wait_until_gone(job.line())
    assert isinstance(house.cook(worker, 7), Prepared)  # and said nothing in the worker's name


def test_one_thread_does_nothing_but_wait(house: House) -> None:
    house.job("""
import threading
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
nursery = born()
nursery.attend(sys.argv[1], 1)
wait()
""")
    nursery = house.guest()
    assert len(os.listdir(f"/proc/{nursery.pid}/task")) == 1
    before = _cpu_s(nursery.pid)
    time.sleep(0.3)
    assert _cpu_s(nursery.pid) - before < 0.05


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
