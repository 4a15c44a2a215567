"""One line at the end: when something was saved, once, and not if nobody wants it."""

import os
from pathlib import Path

import numpy as np
import pytest

from joader.client.farewell import Tally
from joader.messages import Deliver
from tests.processes.conftest import Node

TWICE = """
sys.argv[0] = "train.py"
loader = joader.DataLoader(
    Squares(40), batch_size=8, num_workers=1, deterministic=True, key="squares"
)
for epoch in range(2):
    for batch in loader:
        pass
"""


def batch(count: int, prepared: int, shared: int, job: int = 1) -> Deliver:
    rows = np.arange(count)
    return Deliver(job, rows, rows, rows, prepared=prepared, shared=shared)


def test_the_line_says_what_was_saved_and_waited() -> None:
    tally = Tally(pid=os.getpid())
    tally.call(1, "train.py")
    tally.call(1, "train.py --lr 0.1")  # another run has come
    tally.note(batch(10, 10, 0), 1.0)
    assert tally.words() == ""
    tally.note(batch(30, 0, 20), 0.25)
    assert tally.words() == (
        "joader: #1 train.py --lr 0.1: 75% of the work saved: 30 of 40 samples were prepared "
        "already, 20 from other jobs; waited 1.2 s for data\n"
    )


def test_a_process_with_many_jobs_names_the_last_ones() -> None:
    tally = Tally(pid=os.getpid())
    for job in range(1, 6):
        tally.call(job, "train.py" if job < 5 else "probe")
        tally.note(batch(8, 0, 8, job), 0.0)
    assert tally.words().startswith("joader: ..., #3, #4 train.py, #5 probe: 100% of")
    for job in range(6, 400):
        tally.call(job, "train.py")
        tally.note(batch(8, 0, 8, job), 0.0)
    assert tally.words().startswith("joader: ..., #397, #398, #399 train.py: 100% of")
    assert (len(tally.jobs), len(tally.labels)) == (4, 100)


def test_who_was_forked_counts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally(delivered=100, hits=100, shared=100, pid=os.getpid() + 1)
    tally.note(batch(4, 4, 0), 0.0)
    assert (tally.delivered, tally.hits, tally.pid) == (4, 0, os.getpid())


def test_a_job_says_it_once_at_its_end_unless_it_is_to_be_quiet(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.up()
    try:
        ends = []
        for quiet in ("", "1"):
            job = node.job(TWICE, JOADER_QUIET=quiet)
            _, err = job.process.communicate(timeout=60)
            assert job.process.returncode == 0, err
            ends.append(err)
        assert ends[0].count("joader: #1 train.py: 50% of the work saved") == 1
        assert "40 of 80 samples were prepared already, from passes before" in ends[0]
        assert "joader" not in ends[1]
    finally:
        node.down()
