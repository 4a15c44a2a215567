"""Killed, broken, slow, too large: what happens to one job does not happen to another."""

import json
import os
import re
import signal

from tests.processes.conftest import Node, alive
from tests.processes.jobs import wait_until
from tests.processes.test_sharing import read

STUCK = """
loader = joader.DataLoader(Squares(400, side=64), batch_size=8, shuffle=True, key="k")
it = iter(loader)
check(next(it))
say("holding")
time.sleep(600)
"""


def test_a_killed_job_releases_all_it_held_and_the_others_go_on(node: Node) -> None:
    node.up()
    stuck = node.job(STUCK)
    assert stuck.line() == "holding"
    wait_until(lambda: node.status()["memory"]["pinned_bytes"] > 0)
    stuck.kill(signal.SIGKILL)
    wait_until(lambda: node.status()["jobs"] == [])
    wait_until(lambda: node.status()["memory"]["pinned_bytes"] == 0)
    rows = read(node, data={"length": 400, "side": 64}, batch_size=8, key="k").result()[1]
    assert sorted(rows) == list(range(400))


def test_a_child_that_keeps_the_socket_does_not_keep_the_job(node: Node) -> None:
    node.up()
    job = node.job(
        """
loader = joader.DataLoader(Squares(100), batch_size=8, shuffle=True)
it = iter(loader)
next(it)
child = os.fork()
if child == 0:
    time.sleep(30)
    os._exit(0)
say(child)
time.sleep(600)
"""
    )
    child = job.line()
    job.kill(signal.SIGKILL)
    try:
        wait_until(lambda: node.status()["jobs"] == [], timeout_s=10)
        assert alive(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_job_that_stops_reading_does_not_stop_another(node: Node) -> None:
    node.up("1MiB")
    stuck = node.job(STUCK)
    assert stuck.line() == "holding"
    rows = read(node, data={"length": 400, "side": 64}, batch_size=8, key="k").result()[1]
    assert sorted(rows) == list(range(400))
    memory = node.status()["memory"]
    assert memory["used_bytes"] <= memory["budget_bytes"] == 2**20


def test_a_killed_worker_is_replaced_and_no_row_is_lost(node: Node) -> None:
    node.up()
    job = read(node, data={"length": 600, "slow_s": 0.005}, batch_size=16)
    assert job.line() == "ready"
    wait_until(lambda: node.status()["jobs"] and node.status()["jobs"][0]["delivered"] > 50)
    before = node.workers()
    os.kill(before[0], signal.SIGKILL)
    rows, _ = job.result()
    assert sorted(rows) == list(range(600))
    assert before[0] not in node.workers()


def test_a_row_that_raises_names_row_and_traceback_and_nobody_else_notices(node: Node) -> None:
    node.up()
    bad = read(node, data={"length": 100, "bad": {"42": "raise"}}, batch_size=10, key="bad")
    good = read(node, data={"length": 100}, batch_size=10, key="good")
    error = bad.error()
    assert "row 42 (position 42) could not be prepared" in error
    assert "ValueError: row 42 is broken" in error
    assert "__getitem__" in error
    assert sorted(good.result()[1]) == list(range(100))


def test_a_row_that_kills_its_worker_is_tried_twice_then_reported(node: Node) -> None:
    node.up()
    bad = read(
        node, data={"length": 60, "bad": {"7": "die"}}, batch_size=10, key="bad", num_workers=2
    )
    assert "row 7 (position 7)" in (error := bad.error())
    assert "the worker that prepared it died (signal 9), 2 times" in error
    log = node.folder / "log"
    once = {"length": 60, "bad": {"7": "die once"}, "log": str(log)}
    assert sorted(read(node, data=once, batch_size=10, num_workers=2).result()[1]) == list(
        range(60)
    )


def test_what_does_not_fit_the_budget_is_refused_with_the_number_needed(node: Node) -> None:
    node.up("256KiB")
    error = read(node, data={"length": 60, "side": 128}, batch_size=32, fallback=False).error()
    assert "Refusal" in error
    assert "restart the daemon with `joader up --memory" in error
    large = read(node, data={"length": 4, "side": 1024}, batch_size=1, fallback=False).error()
    assert "and the budget is 256.0 KiB" in large


def test_nothing_comes_in_time_is_an_error_that_says_from_whom(node: Node) -> None:
    node.up()
    job = read(node, data={"length": 99, "slow_s": 0.3}, batch_size=33, timeout=1)
    error = job.error()
    assert "Overdue: DataLoader timed out after 1 seconds: no batch came from the daemon" in error
    assert re.search(r"row \d+ \(in the dataset\) .* worker process \d+ .*for \d", error)


def test_a_daemon_that_is_killed_leaves_nothing_behind(node: Node) -> None:
    node.up()
    stuck = node.job(STUCK)
    assert stuck.line() == "holding"
    workers = node.workers()
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    wait_until(lambda: not any(alive(pid) for pid in workers))
    node.daemon = None
    node.up()  # the socket of the dead one is in nobody's way
    assert sorted(read(node, data={"length": 50}, batch_size=8).result()[1]) == list(range(50))


def test_a_worker_that_never_gets_ready_ends_with_its_daemon(node: Node) -> None:
    node.up()
    script = """
def wait(worker):
    time.sleep(1e6)
options = {"batch_size": 1, "num_workers": 1, "worker_init_fn": wait}
loaders = [joader.DataLoader(Squares(9, side=side), **options) for side in (2, 3)]
begun = [iter(loader) for loader in loaders]
say("both")
time.sleep(600)
"""
    job = node.job(script)
    assert job.line() == "both"
    wait_until(lambda: len(node.workers()) == 2)
    workers = node.workers()
    job.kill(signal.SIGSTOP)  # it shall not start another daemon
    assert node.daemon is not None
    node.daemon.kill()
    node.daemon.wait()
    node.daemon = None
    wait_until(lambda: not any(alive(pid) for pid in workers))


def test_one_script_started_twice_shares_and_another_does_not(node: Node) -> None:
    node.up()
    go = node.folder / "go"
    logs = [node.folder / name for name in ("one", "two")]
    script = """
class Mine(Squares):
    def __getitem__(self, row):
        return super().__getitem__(row + CHANGE)
loader = joader.DataLoader(Mine(300, log=LOG), batch_size=16, shuffle=True)
say(loader._looked().identity.key)
while not os.path.exists("go"):
    time.sleep(0.01)
rows = [row for batch in loader for row in check(batch)]
say(len(rows))
loader.close()
"""
    texts = [
        script.replace("CHANGE", "0").replace("LOG", json.dumps(str(logs[0]))),
        script.replace("CHANGE", "0").replace("LOG", json.dumps(str(logs[0]))),
        script.replace("CHANGE", "1").replace("LOG", json.dumps(str(logs[1]))),
    ]
    jobs = [node.job(text, PYTHONHASHSEED=str(n)) for n, text in enumerate(texts)]
    keys = [job.line() for job in jobs]
    go.touch()
    for job in jobs:
        job.result()
    assert keys[0] == keys[1] != keys[2]
    assert len(logs[0].read_text().split()) < 450
    assert len(logs[1].read_text().split()) == 300


def test_a_daemon_whose_folder_is_cleaned_away_ends(node: Node) -> None:
    node.up()
    assert node.daemon is not None
    node.socket.unlink()
    assert node.daemon.wait(20) == 0
    node.daemon = None


def test_ctrl_c_ends_the_job_and_frees_what_it_held(node: Node) -> None:
    node.up()
    stuck = node.job(STUCK)
    assert stuck.line() == "holding"
    stuck.kill(signal.SIGINT)
    assert "KeyboardInterrupt" in stuck.error()
    wait_until(lambda: node.status()["jobs"] == [])


def test_a_loader_can_be_used_on_both_sides_of_a_fork(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(90), batch_size=8, shuffle=True)
say([row for batch in loader for row in check(batch)])
child = os.fork()
rows = [row for batch in loader for row in check(batch)]
if child:
    os.waitpid(child, 0)
say(rows)
loader.close()
"""
    for rows in node.job(script).result():
        assert sorted(rows) == list(range(90))
