"""`joader jobs`: all of them, and one of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.processes.conftest import Node
from tests.warm import process as warm

HOLD = """
loader = joader.DataLoader(Squares(40), batch_size=4, job=sys.argv[1], key="squares")
passing = iter(loader)
next(passing)
say("here")
input()
"""


def jobs(node: Node, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "joader.cli.main", "jobs", *arguments],
        env={**os.environ, "JOADER_RUNTIME": str(node.run), "COLUMNS": "70"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_jobs_are_listed_and_one_is_shown_by_its_name(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert jobs(node).returncode == 1  # no daemon
    node.up()
    try:
        assert "No job reads now" in jobs(node).stdout
        for name in ("left", "right"):
            assert node.job(HOLD, name).line() == "here"
        text = jobs(node).stdout
        assert "left" in text
        assert "Squares of 40 rows, shares with" in text
        assert len(text.splitlines()) == 7  # no line wraps
        told = json.loads(jobs(node, "--json").stdout)
        assert [job["name"] for job in told] == ["left", "right"]
        (one,) = json.loads(jobs(node, "right", "--json").stdout)
        assert (one["name"], one["rows"]) == ("right", 40)
        assert "of 40 samples" in jobs(node, "left").stdout
        wrong = jobs(node, "nobody")
        assert wrong.returncode == 2
        assert "there is no job 'nobody'" in wrong.stderr
    finally:
        node.down()
