"""`joader top` in a real terminal (tmux), with four live jobs."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from joader.client.watcher import Watcher
from joader.errors import NoDaemon
from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.warm import process as warm

READ = """
name = sys.argv[1]
loader = joader.DataLoader(
    Squares(400, slow_s=0.001), batch_size=8, key="squares", job=name, deterministic=True,
    num_workers=1, shuffle=True,
)
for epoch in range(1000):
    for batch in loader:
        time.sleep(0.02)
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    node.up()
    for name in ("alpha", "beta", "gamma", "delta"):
        node.job(READ, name)
    with Watcher(node.socket) as watcher:
        wait_until(lambda: sum(job.samples_per_s > 0 for job in watcher.status().jobs) == 4)
    yield node
    node.down()


class Terminal:
    """A tmux of its own, with one command in it."""

    def __init__(self, node: Node, width: int, height: int, locale: str = "C.UTF-8") -> None:
        self._locale = locale
        self._tmux = ["tmux", "-S", str(node.folder / f"tmux{width}")]
        command = [sys.executable, "-m", "joader.cli.main", "top"]
        # With the environment of the test, as tmux gives what it runs its server's.
        self._do("new-session", "-d", "-x", str(width), "-y", str(height), *command, node=node)

    def _do(self, *words: str, node: Node | None = None) -> str:
        runtime = {"JOADER_RUNTIME": str(node.run)} if node else {}
        run = subprocess.run(
            [*self._tmux, *words],
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": self._locale, **runtime},
            capture_output=True,
            text=True,
            check=False,
        )
        return run.stdout

    def screen(self) -> str:
        return self._do("capture-pane", "-p")

    def resize(self, width: int, height: int) -> None:
        self._do("resize-window", "-x", str(width), "-y", str(height))

    def type(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def close(self) -> None:
        self._do("kill-server")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_top_in_a_terminal_at_80_and_200_columns_with_keys(busy: Node) -> None:
    narrow, wide = Terminal(busy, 80, 24), Terminal(busy, 200, 50)
    try:
        wait_until(lambda: "of the work saved" in narrow.screen())
        wait_until(lambda: "delta" in narrow.screen())
        assert all(name in narrow.screen() for name in ("alpha", "beta", "gamma", "delta"))
        assert "shares with" in narrow.screen()
        wait_until(lambda: "SHARES WITH" in wide.screen() and "CPU SAVED" in wide.screen())
        narrow.type("Down")
        wait_until(lambda: "▸   2" in narrow.screen())
        narrow.type("Enter")
        wait_until(lambda: "samples taken from" in narrow.screen())
        narrow.type("Escape")
        wait_until(lambda: "PER S" in narrow.screen())
        narrow.type("s")
        wait_until(lambda: "sorted by name" in narrow.screen())
        narrow.type("q")
        wait_until(lambda: narrow.screen() == "")
    finally:
        narrow.close()
        wide.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_job_on_a_low_screen_can_be_scrolled_both_ways_and_a_window_resized(busy: Node) -> None:
    terminal = Terminal(busy, 80, 12)
    try:
        wait_until(lambda: "PER S" in terminal.screen())
        terminal.type("Enter")
        wait_until(lambda: "process" in terminal.screen() and "scroll" in terminal.screen())
        assert "up to" not in terminal.screen()
        for _ in range(4):  # more than there is
            terminal.type("PPage", "NPage", "NPage")
        wait_until(lambda: "up to" in terminal.screen())
        assert "process" not in terminal.screen()
        terminal.type("PPage", "PPage")
        wait_until(lambda: "process" in terminal.screen())
        terminal.resize(80, 24)
        wait_until(lambda: "up to" in terminal.screen())
        assert "process" in terminal.screen()
        assert "scroll" not in terminal.screen()  # all of it can be seen
        terminal.type("Escape")
        terminal.resize(160, 24)
        wait_until(lambda: "SHARES WITH" in terminal.screen())
    finally:
        terminal.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_without_utf_8_gets_ascii(busy: Node) -> None:
    terminal = Terminal(busy, 80, 24, locale="C")
    try:
        wait_until(lambda: "delta" in terminal.screen())
        assert terminal.screen().isascii()
        assert "up/down select" in terminal.screen()
        terminal.type("Enter")
        wait_until(lambda: "up to" in terminal.screen())
        assert terminal.screen().isascii()
    finally:
        terminal.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_top_goes_on_with_the_next_daemon(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.up()
    terminal = Terminal(node, 80, 24)
    try:
        wait_until(lambda: f"daemon {node.daemon.pid}" in terminal.screen())
        node.daemon.terminate()
        node.daemon.wait(20)
        wait_until(lambda: "no daemon listens" in terminal.screen())
        node.up()
        wait_until(lambda: f"daemon {node.daemon.pid}" in terminal.screen())
    finally:
        terminal.close()
        node.down()


def test_top_once_prints_jobs_and_ends(busy: Node) -> None:
    run = joader(busy, "top", "--once")
    assert run.returncode == 0, run.stderr
    assert "of the work saved" in run.stdout
    assert all(name in run.stdout for name in ("alpha", "beta", "gamma", "delta"))
    assert "\x1b" not in run.stdout
    told = json.loads(joader(busy, "top", "--json").stdout)
    assert sorted(job["name"] for job in told["jobs"]) == ["alpha", "beta", "delta", "gamma"]


def test_top_without_a_daemon_says_so(tmp_path: Path) -> None:
    node = Node(tmp_path)
    run = joader(node, "top", "--once")
    assert run.returncode == 1
    assert "no daemon listens" in run.stderr


def test_a_watcher_gets_history_from_where_it_was(busy: Node) -> None:
    with Watcher(busy.socket) as watcher:
        run = watcher.run()
        assert [job.name for job in run.node.jobs] != []
        last = run.moments[-1].time
        wait_until(lambda: watcher.run(last).moments)
        assert all(moment.time > last for moment in watcher.run(last).moments)
    with pytest.raises(NoDaemon):
        Watcher(busy.folder / "nothing")


def joader(node: Node, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "joader.cli.main", *arguments],
        env={**os.environ, "JOADER_RUNTIME": str(node.run), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
