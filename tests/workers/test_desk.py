"""A worker's desk: what each thread is at, as the daemon sees it."""

import os
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest

from joader.workers.desk import READING, WRITING, Desk, shortened


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.close()


def test_an_empty_desk_says_nothing(desk: Desk) -> None:
    assert desk.notes() == []
    assert desk.trace() == ""


def test_a_sample_is_noted_from_its_beginning_to_its_end(desk: Desk) -> None:
    desk.begin(5, READING)
    (first,) = desk.notes()
    assert (first.sample, first.step) == (5, "reading the row")
    desk.step(WRITING)
    (second,) = desk.notes()
    assert (second.sample, second.step, second.since) == (5, "writing the sample", first.since)
    assert desk.at() == "writing the sample"
    desk.end()
    assert desk.notes() == []


def test_each_thread_has_a_note_of_its_own(desk: Desk) -> None:
    all_noted, all_seen = Barrier(4), Barrier(4)

    def work(sample: int) -> None:
        desk.begin(sample, READING)
        all_noted.wait(10)
        all_seen.wait(10)
        desk.end()

    threads = [Thread(target=work, args=(sample,)) for sample in (7, 8, 9)]
    for thread in threads:
        thread.start()
    all_noted.wait(10)
    assert sorted(note.sample for note in desk.notes()) == [7, 8, 9]
    all_seen.wait(10)
    for thread in threads:
        thread.join()
    assert desk.notes() == []


def test_a_step_with_a_long_name_is_cut(desk: Desk) -> None:
    desk.begin(5, b"x" * 500)
    assert set(desk.notes()[0].step) == {"x"}


DUMP = """Fatal Python error: Segmentation fault

Thread 0x01 (most recent call first):
  File "/usr/lib/python3/threading.py", line 1 in wait

Current thread 0x02 (most recent call first):
  File "/home/me/train.py", line 9 in crop
  File "/home/me/train.py", line 5 in __getitem__
  File "/x/joader/workers/hand.py", line 77 in _reply
"""


def test_of_a_crash_the_users_frames_are_told_the_latest_last() -> None:
    assert shortened(DUMP).splitlines() == [
        "Where it was (most recent call last):",
        '  File "/home/me/train.py", line 5, in __getitem__',
        '  File "/home/me/train.py", line 9, in crop',
    ]
    assert shortened("") == ""


def test_without_a_crash_it_is_the_thread_that_works() -> None:
    signalled = DUMP.split("\n", 2)[2].replace("Current thread", "Thread")
    assert shortened(signalled) == shortened(DUMP)


def test_what_is_written_behind_the_page_is_its_trace(desk: Desk) -> None:
    os.pwrite(desk.descriptor, DUMP.encode(), 8192)
    assert desk.trace() == shortened(DUMP)
