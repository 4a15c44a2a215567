"""The dashboard's process: who gets in, what it serves, and that it never holds anybody up."""

import json
import os
import re
import socket
import stat
import subprocess
import sys
import time
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path

import pytest

from joader.client.watcher import Watcher
from joader.statistics import run_from_json
from tests.dashboard.conftest import READ, Served
from tests.processes.conftest import Node, alive
from tests.processes.jobs import wait_until
from tests.warm import process as warm

PATHS = ("/", "/events", "/metrics", "/summary.json", "/summary.html", "/nothing", "//x/../")


def test_who_has_no_token_gets_403_and_nothing_else_whatever_is_asked_for(served: Served) -> None:
    answers = set()
    for path in PATHS:
        for token in (None, "", "wrong", served.token[:-1], served.token + "x"):
            for method in ("GET", "POST", "OPTIONS"):
                status, headers, body = served.get(path, token, method)
                headers.pop("date", None)
                answers.add((status, body, tuple(sorted(headers.items()))))
    (one,) = answers  # the same for what exists and what does not
    assert one[:2] == (403, b"403 Forbidden\n")


def test_strangers_without_a_word_do_not_lock_the_owner_out(served: Served) -> None:
    port = served.address["port"]
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    try:
        assert served.get("/", served.token)[0] == 200
        strangers[-1].settimeout(4)  # without a limit a connection would be kept for 5 s
        strangers[-1].sendall(b"GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n")
        with strangers[-1].makefile("rb") as answer:
            assert answer.read().startswith(b"HTTP/1.1 403 ")
    finally:
        for sock in strangers:
            sock.close()


def test_a_name_that_resolves_to_this_machine_is_not_enough(served: Served) -> None:
    assert served.get("/", served.token)[0] == 200
    assert served.get("/", served.token, Host="evil.example:80")[0] == 403


def test_only_this_machine_and_this_user_reach_it(served: Served) -> None:
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    port = f":{served.address['port']:04X}"
    assert {words[1] for words in listening if words[1].endswith(port)} == {f"0100007F{port}"}
    for name in ("dashboard.json", "dashboard.token", "dashboard.lock"):
        mode = (served.node.run / name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600, name
    command = Path(f"/proc/{served.process.pid}/cmdline").read_text()
    assert served.token not in command


def test_the_page_and_its_headers(served: Served) -> None:
    status, headers, body = served.get("/", served.token)
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert served.token.encode() not in body
    assert served.get("/nothing", served.token)[0] == 404
    assert served.get("/", served.token, "POST")[0] == 405


def test_metrics_take_the_token_in_a_header_as_prometheus_sends_it(busy: Served) -> None:
    said = {"Authorization": f"Bearer {busy.token}"}
    status, headers, body = busy.get("/metrics", **said)
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    (delivered,) = re.findall(r"^joader_samples_delivered_total (\S+)", body.decode(), re.M)
    assert float(delivered) >= 200
    assert 'joader_job_epoch{name="alpha"}' in body.decode()


def test_the_summary_is_the_run(busy: Served) -> None:
    run = run_from_json(busy.get("/summary.json", busy.token)[2])
    assert {job.name for job in run.node.jobs} == {"alpha", "beta", "gamma", "delta"}
    assert run.moments
    status, headers, body = busy.get("/summary.html", busy.token)
    assert (status, headers["content-disposition"]) == (200, 'attachment; filename="joader.html"')
    assert b'"alpha"' in body


class Page:
    """A browser's connection to the events, read as slowly as a test likes."""

    def __init__(self, served: Served) -> None:
        self.connection = HTTPConnection("127.0.0.1", served.address["port"], timeout=20)
        self.connection.request("GET", f"/events?token={served.token}")
        self.answer = self.connection.getresponse()
        assert self.answer.getheader("content-type", "").startswith("text/event-stream")

    def event(self, but: str = "machine") -> tuple[str, dict]:  # type: ignore[type-arg]
        """Return the next event, those of one name left out."""
        name = ""
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name != but:
                return name, json.loads(line.removeprefix("data: "))

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


def test_a_page_gets_everything_and_then_what_is_new(busy: Served) -> None:
    page = Page(busy)
    name, first = page.event()
    assert name == "run"
    assert len(first["node"]["jobs"]) == 4
    seen = [moment["time"] for moment in first["moments"]]
    for _ in range(4):
        name, run = page.event()
        assert name == "run"
    later = [moment["time"] for moment in run["moments"]]
    assert len(later) <= 3
    assert later[-1] > seen[-1]
    page.close()


def test_a_page_is_told_how_busy_the_machine_is(served: Served) -> None:
    page = Page(served)
    while (event := page.event(but=""))[0] != "machine":
        pass
    told = event[1]
    assert 0 < told["usable_cores"] <= told["cores"]
    assert 0 < told["used_bytes"] < told["memory_bytes"]
    page.close()


def test_a_page_lives_through_the_end_of_a_daemon_and_the_start_of_another(served: Served) -> None:
    page = Page(served)
    first = page.event()[1]["node"]["pid"]
    assert served.node.daemon is not None
    served.node.daemon.kill()
    served.node.daemon.wait()
    while (event := page.event())[0] != "gone":
        pass
    assert "daemon" in event[1]["error"]
    served.node.up()
    while (event := page.event())[0] != "run":
        pass
    assert event[1]["node"]["pid"] == served.node.daemon.pid != first
    page.close()


@pytest.mark.slow
def test_a_stalled_page_holds_up_neither_jobs_nor_other_pages_and_costs_no_memory(
    busy: Served,
) -> None:
    stalled = [Page(busy) for _ in range(5)]
    time.sleep(2)
    before = _resident(busy.process.pid)
    got = busy.node.status()["totals"]["delivered"]
    quick = Page(busy)
    times = []
    for _ in range(12):
        quick.event()
        times.append(time.monotonic())
    assert max(later - sooner for sooner, later in pairwise(times)) < 5
    assert busy.node.status()["totals"]["delivered"] > got + 500
    assert _resident(busy.process.pid) < before + 20 * 2**20
    for page in (*stalled, quick):
        page.close()


def _resident(pid: int) -> int:
    words = Path(f"/proc/{pid}/statm").read_text().split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE")


def test_pages_that_have_left_leave_nothing_and_nobody_asks_the_daemon_then(served: Served) -> None:
    descriptors = Path(f"/proc/{served.process.pid}/fd")
    served.get("/", served.token)
    before = len(list(descriptors.iterdir()))
    for _ in range(20):
        page = Page(served)
        page.event()
        page.close()
    wait_until(lambda: len(list(descriptors.iterdir())) <= before + 1)


@pytest.mark.slow
def test_thousands_of_answers_leave_the_memory_of_daemon_and_dashboard_as_it_was(
    served: Served,
) -> None:
    served.node.job(READ, "alpha", "0.05")
    wait_until(lambda: served.node.status()["totals"]["delivered"] > 100)
    processes = [served.process.pid, served.node.daemon.pid]  # type: ignore[union-attr]
    before = []
    with Watcher(served.node.socket) as watcher:
        for number in range(3000):
            watcher.run_as_json(0.0)
            if number % 3 == 0:
                assert served.get("/metrics", served.token)[0] == 200
            if number % 30 == 0:
                page = Page(served)
                page.event()
                page.close()
            if number == 600:  # pools and caches are as large as they get
                before = [_resident(pid) for pid in processes]
    # 2,400 answers of the daemon, 800 scrapes and 80 pages later.
    for pid, was in zip(processes, before, strict=True):
        assert _resident(pid) < was + 4 * 2**20


def test_a_second_dashboard_leaves_the_place_to_the_first(served: Served) -> None:
    again = warm.run(
        [sys.executable, "-m", "joader.dashboard.main", f"--socket={served.node.socket}"],
        env={**os.environ, "JOADER_RUNTIME": str(served.node.run)},
        timeout=20,
        check=False,
    )
    assert again.returncode == 0
    assert json.loads((served.node.run / "dashboard.json").read_text()) == served.address


def test_it_ends_when_nobody_looks(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.up()
    served = Served(node, "--idle=1")
    assert served.process.wait(20) == 0
    assert not (node.run / "dashboard.json").exists()
    stays = Served(node, "--idle=1", "--stay")
    assert stays.token == served.token  # what scrapes need not be told again
    time.sleep(2.5)
    assert stays.process.poll() is None
    assert node.daemon is not None
    node.daemon.terminate()
    assert stays.process.wait(20) == 0
    node.daemon.wait(20)
    node.daemon = None


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "joader.cli.main", *words],
        env={**os.environ, "JOADER_RUNTIME": str(folder), "DISPLAY": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_commands_start_find_and_end_it(tmp_path: Path) -> None:
    up = command(tmp_path, "up", "-d", "--memory=32MiB")
    try:
        assert up.returncode == 0, up.stderr
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", up.stdout)
        told = json.loads(command(tmp_path, "dashboard", "--json").stdout)
        assert told["url"] == url
        assert command(tmp_path, "dashboard", "--no-browser").stdout.strip().endswith(url)
        other = command(tmp_path, "dashboard", "--port=1025", "--no-browser")
        assert other.returncode == 2
        assert "already runs at port" in other.stderr
        saved = command(tmp_path, "dashboard", f"--save={tmp_path}/now.html")
        assert saved.returncode == 0, saved.stderr
        assert "<!doctype html>" in (tmp_path / "now.html").read_text()
        assert command(tmp_path, "dashboard", "--save=x.png").returncode == 2
    finally:
        assert command(tmp_path, "down").returncode == 0
    wait_until(lambda: not alive(told["pid"]))
    assert not (tmp_path / "summary.json").exists()  # nothing was delivered


def test_a_daemon_that_did_something_leaves_a_summary(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.up()
    node.job("for batch in joader.DataLoader(Squares(8), batch_size=4, job='j'): pass").result()
    node.down()
    run = run_from_json((node.run / "summary.json").read_bytes())
    assert [(job.name, job.delivered) for job in run.past] == [("j", 8)]
    assert run.node.totals.delivered == 8
    page = node.run / "summary.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    saved = command(node.run, "dashboard", f"--save={tmp_path}/last.json")
    assert saved.returncode == 0, saved.stderr
    assert run_from_json((tmp_path / "last.json").read_bytes()) == run
