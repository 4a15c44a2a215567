"""Runs of one script have one name everywhere, and can be asked about when they have ended."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.warm import process as warm

ONE_PASS = """
sys.argv[0] = "train.py"
loader = joader.DataLoader(
    Squares(40), batch_size=8, key="squares", deterministic=True, num_workers=1, shuffle=True
)
for batch in loader:
    pass
say("here")
input()
for batch in loader:
    pass
"""


def joader(node: Node, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "joader.cli.main", *arguments],
        env={**os.environ, "JOADER_RUNTIME": str(node.run), "COLUMNS": "150"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_runs_are_told_apart_while_they_read_and_when_they_have_ended(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.up()
    try:
        jobs = [node.job(ONE_PASS, "--lr", rate, "--epochs=9") for rate in ("0.1", "0.01")]
        for job in jobs:
            assert job.line() == "here"
        labels = ["train.py --lr 0.1", "train.py --lr 0.01"]
        told = node.status()["jobs"]
        by_pid = {job["pid"]: job["label"] for job in told}
        assert [by_pid[job.process.pid] for job in jobs] == labels
        for words in (["status"], ["jobs"], ["top", "--once"], ["explain", *labels], ["policy"]):
            found = joader(node, *words)
            assert found.returncode == 0, found.stderr
            assert all(label in found.stdout for label in labels), words
        ends = []
        for job in jobs:
            _, err = job.process.communicate("\n", timeout=60)
            ends.append(err)
        # Also of the one that came first, and was called otherwise then.
        assert any(end.startswith("joader: #") for end in ends)
        assert all(not end or f" {label}: " in end for label, end in zip(labels, ends, strict=True))
        wait_until(lambda: not node.status()["jobs"])
        for words in (["status", "--ended"], ["top", "--once"], ["explain", *labels]):
            found = joader(node, *words)
            assert all(label in found.stdout for label in labels), (words, found)
        assert "80 samples delivered" in joader(node, "explain", "1", "2").stdout
        assert "samples that job 2 prepared" in joader(node, "explain", "#1", "#2").stdout
        assert "2 jobs ended before" in joader(node, "jobs").stdout
        assert "ended" in joader(node, "jobs", labels[0]).stdout
        kept = json.loads(joader(node, "status", "--ended", "--json").stdout)
        assert sorted(job["label"] for job in kept) == sorted(labels)
        assert all(job["delivered"] == 80 and job["ended"] > job["began"] for job in kept)
    finally:
        node.down()
    assert labels[0] in joader(node, "status", "--ended").stdout  # what the last daemon left
