"""User code that hangs, crashes, forks, prints and leaks: who wrote it is told, nobody else is."""

import gc
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import joader
from joader.errors import RowFailed
from tests.processes.conftest import Node, alive, forked_here
from tests.processes.jobs import wait_until
from tests.processes.odd_data import Odd

ROWS = 24
BAD = 5


def loader(data: Any, **options: Any) -> joader.DataLoader:
    usual = {"batch_size": 4, "as_numpy": True, "timeout": 30, "fallback": False}
    usual["num_workers"] = 2  # without it the job itself tries what has failed in a worker
    options = {**usual, **options}
    return joader.DataLoader(data, **options)


def rows_of(data: Any, **options: Any) -> list[int]:
    with loader(data, shuffle=True, **options) as batches:
        return [row for _, rows in batches for row in rows.tolist()]


def failure(what: str, argument: str = "", **options: Any) -> str:
    """Return what a job is told whose row 5 does this."""
    with pytest.raises(RowFailed) as caught:
        rows_of(Odd(ROWS, {BAD: what}, argument), **options)
    text = str(caught.value)
    assert text.startswith(f"row {BAD} (position {BAD}) could not be prepared:\n"), text
    return text


@pytest.fixture(autouse=True)
def the_others_go_on(not_ours: set[str], shared_node: Node) -> Iterator[None]:
    """Read beside every test, and get every row once."""
    got: list[int] = []
    beside = threading.Thread(target=lambda: got.extend(rows_of(Odd(200, {}))))
    beside.start()
    yield
    beside.join(30)
    assert sorted(got) == list(range(200))
    wait_until(lambda: not shared_node.workers() and not forked_here())


# What hangs.


# Who holds the interpreter answers nobody: that a row is in his way is seen after some seconds.
@pytest.mark.parametrize(("what", "timeout"), [("sleeps", 3), ("holds_the_interpreter", 8)])
def test_a_row_that_hangs_is_given_up_after_the_timeout_and_its_worker_killed(
    what: str, timeout: int
) -> None:
    begun = time.monotonic()
    text = failure(what, timeout=timeout)
    assert time.monotonic() - begun < 40
    said = f"reading the row took more than {timeout} s, which is the job's timeout, so its worker"
    assert said in text
    pid = int(re.findall(r"process (\d+) was killed", text)[0])
    assert not alive(pid)
    assert f"in {what}" in text  # where the code was
    assert "larger timeout=" in text


def test_an_own_part_that_hangs_is_named(shared_node: Node) -> None:
    with pytest.raises(RowFailed, match=r"transform: .*stuck took more than 3 s"):
        rows_of(Odd(ROWS, {}), transform=stuck, timeout=3)


def stuck(sample: Any) -> Any:
    if sample[1] == BAD:
        time.sleep(1e6)
    return sample


def test_a_patient_job_does_not_lose_a_row_to_an_impatient_one() -> None:
    data = Odd(2, {-1: "rests"})
    got: list[int] = []
    patient = loader(data, key="rests", timeout=60, batch_size=1)
    thread = threading.Thread(target=lambda: got.extend(r for _, b in patient for r in b.tolist()))
    thread.start()
    with pytest.raises((joader.errors.Overdue, RowFailed)):
        rows_of(data, key="rests", timeout=0.5, batch_size=1)
    thread.join(30)
    patient.close()
    assert sorted(got) == [0, 1]


def test_workers_that_do_not_get_ready_in_time_are_named() -> None:
    with pytest.raises(
        RowFailed, match=r"loading the code \(unpickling, imports\) took more than 3 s"
    ):
        rows_of(Odd(ROWS, {}), worker_init_fn=sleep_on, timeout=3, batch_size=1)


def sleep_on(worker: int) -> None:
    """Be a worker_init_fn that waits for a network that is gone."""
    time.sleep(1e6)


# What crashes.


def test_a_row_that_crashes_its_worker_is_tried_twice_and_shown() -> None:
    text = failure("reads_address_zero")
    assert "the worker that prepared it died (signal 11), 2 times" in text
    assert "It was at: reading the row" in text
    assert "in reads_address_zero" in text


def test_a_row_that_crashes_once_costs_one_retry(tmp_path: Path) -> None:
    odd = Odd(ROWS, {BAD: "reads_address_zero_once"}, str(tmp_path))
    assert sorted(rows_of(odd)) == list(range(ROWS))
    assert (tmp_path / "once").exists()


def test_a_row_that_exits_is_reported_with_the_code() -> None:
    assert "died (exit code 3), 2 times" in failure("exits_at_once")


def test_rows_beside_one_that_crashes_lose_no_try() -> None:
    """All of 6 bad rows take neighbours with them; each good one is still delivered."""
    odd = Odd(60, dict.fromkeys(range(0, 60, 10), "exits_at_once"))
    good = [row for row in range(60) if row % 10]
    with loader(odd, batch_size=1, sampler=[*good]) as batches:
        assert [int(rows[0]) for _, rows in batches] == good


# What raises.


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("raises_unfriendly", r"Unfriendly: <exception str\(\) failed>"),
        ("raises_system_exit", "SystemExit: the end"),
        ("raises_keyboard_interrupt", "KeyboardInterrupt"),
        ("raises_stop_iteration", "StopIteration"),
        ("raises_chained", r"KeyError: 'cause'[\s\S]*direct cause[\s\S]*ValueError: the effect"),
        ("recurses", "RecursionError: maximum recursion depth exceeded"),
        ("warns", "UserWarning: take care"),
        ("opens_a_missing_file", r"on the file /nonexistent/photo.jpg:[\s\S]*FileNotFoundError"),
        ("opens_a_folder", r"on the file /proc:[\s\S]*IsADirectoryError"),
        ("reads_input", "EOFError"),
    ],
)
def test_what_a_row_raises_is_told_with_step_and_traceback(what: str, said: str) -> None:
    text = failure(what)
    assert re.search(said, text), text
    assert re.search(r"\n(reading the row|writing the sample) failed in worker process \d+", text)
    assert f"in {what}" in text
    assert "workers/loop.py" not in text


def test_a_sample_that_cannot_be_sent_is_read_in_the_job_and_only_its_batch_suffers() -> None:
    data = Odd(ROWS, {BAD: "returns_a_lock"})
    with loader(data, collate_fn=list) as batches:
        assert sorted(row for batch in batches for _, row in batch)[-1] == ROWS - 1
    with loader(data) as batches:
        passing = iter(batches)
        next(passing)
        with pytest.raises(joader.errors.BadArgument, match="cannot pickle"):
            next(passing)
        assert len(list(passing)) == ROWS // 4 - 2


def test_a_very_long_error_is_cut() -> None:
    text = failure("raises_a_long_text")
    assert len(text) < 30_000
    assert "characters ...]" in text


# What forks, prints, moves about, leaks.


@pytest.fixture(scope="module")
def not_ours() -> set[str]:
    """What this process has open before it has any loader: children inherit it, as with torch."""
    gc.collect()
    return set(open_here())


def open_here() -> Iterator[str]:
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            yield os.readlink(link)


def test_a_forked_child_holds_nothing_of_ours_and_ends_with_its_worker(
    not_ours: set[str], shared_node: Node, tmp_path: Path
) -> None:
    odd = Odd(ROWS, {BAD: "forks_for_ever"}, str(tmp_path))
    assert sorted(rows_of(odd)) == list(range(ROWS))
    (path,) = tmp_path.glob("held*")
    held = path.read_text()
    assert "memfd" not in held
    sockets = set(re.findall(r"socket:\[\d+\]", held))
    assert sockets <= not_ours
    child = int(path.name.removeprefix("held"))
    wait_until(lambda: not alive(child))


def test_a_forked_child_ends_with_a_worker_that_is_killed(
    shared_node: Node, tmp_path: Path
) -> None:
    odd = Odd(ROWS, {BAD: "forks_for_ever"}, str(tmp_path))
    with loader(odd, shuffle=True) as batches:
        assert sorted(row for _, rows in batches for row in rows.tolist()) == list(range(ROWS))
        (path,) = tmp_path.glob("held*")
        child = int(path.name.removeprefix("held"))
        assert alive(child)
        worker = int(re.findall(r"PPid:\t(\d+)", Path(f"/proc/{child}/status").read_text())[0])
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not alive(child))
        wait_until(lambda: worker not in shared_node.workers())
        assert sorted(row for _, rows in batches for row in rows.tolist()) == list(range(ROWS))


def test_a_child_that_comes_back_from_the_dataset_ends_there(tmp_path: Path) -> None:
    odd = Odd(ROWS, {BAD: "forks_and_comes_back"}, str(tmp_path))
    assert sorted(rows_of(odd)) == list(range(ROWS))
    assert (tmp_path / "status").read_text() == "1"


def test_a_program_inherits_no_descriptor(tmp_path: Path) -> None:
    odd = Odd(ROWS, {BAD: "runs_a_program"}, str(tmp_path))
    assert sorted(rows_of(odd)) == list(range(ROWS))
    held = (tmp_path / "fds").read_text()
    assert "joader" not in re.sub(r"\S*/daemon.log", "", held), held
    assert "socket:" not in held


def test_prints_go_where_those_of_the_job_go_and_disturb_nothing(
    shared_node: Node, capfd: pytest.CaptureFixture[str]
) -> None:
    assert sorted(rows_of(Odd(ROWS, {-1: "prints_much"}))) == list(range(ROWS))
    out, err = capfd.readouterr()
    assert out.count("out x") == err.count("err x") == 300 * ROWS
    assert "out x" not in shared_node.log()


def test_a_row_that_changes_folder_moves_its_worker_and_nobody_else(tmp_path: Path) -> None:
    """As with torch: the next row of that worker finds itself there."""
    before = os.getcwd()
    odd = Odd(ROWS, {BAD: "changes_folder"}, before)
    assert sorted(rows_of(odd)) == list(range(ROWS))
    assert os.getcwd() == before


def test_a_row_that_changes_its_surroundings_breaks_nothing() -> None:
    assert sorted(rows_of(Odd(ROWS, {-1: "changes_surroundings"}))) == list(range(ROWS))


def test_code_that_nobody_reads_with_is_forgotten_and_another_may_have_its_key() -> None:
    assert sorted(rows_of(Odd(ROWS, {}), key="mine")) == list(range(ROWS))
    assert sorted(rows_of(Odd(4, {0: "returns_nine"}), key="mine")) == [1, 2, 3, 9]


# What does not make a batch.


@pytest.mark.parametrize("what", ["returns_other_shapes", "returns_other_types", "returns_none"])
def test_a_batch_that_cannot_be_made_names_rows_and_forms(what: str) -> None:
    options = {"collate_fn": stacked, "sampler": range(ROWS)}
    with loader(Odd(ROWS, {BAD: what}), **options) as batches:
        got = iter(batches)
        next(got)
        with pytest.raises((ValueError, TypeError, KeyError)) as caught:
            next(got)
        (note,) = caught.value.__notes__
        assert "rows 4, 6, 7: tuple(array u1[8, 8], int); row 5: " in note
        assert "Samples of one batch need equal types and shapes" in note
        assert next(got).tolist() == [8, 9, 10, 11]  # the pass goes on


def stacked(samples: list[Any]) -> Any:
    np.stack([sample[0] for sample in samples])
    return np.array([sample[1] for sample in samples])


# What becomes of it under on_error.


def test_rows_that_hang_or_crash_can_be_skipped_or_replaced() -> None:
    odd = Odd(ROWS, {BAD: "sleeps", 9: "reads_address_zero"})
    good = [row for row in range(ROWS) if row not in odd.odd]
    with loader(odd, shuffle=True, timeout=3, on_error="skip") as batches:
        assert sorted(row for _, rows in batches for row in rows.tolist()) == good
        assert batches.stats().skipped == 2
    with loader(odd, timeout=3, on_error="replace") as batches:
        got = [row for _, rows in batches for row in rows.tolist()]
        assert len(got) == ROWS
        assert set(got) == set(good)
        assert batches.stats().replaced == 2
