"""What is made of a batch in which rows failed."""

import json
import logging
import pickle
import threading
from threading import Lock
from traceback import format_exception
from typing import Any

import numpy as np
import pytest

from joader.client.reading.collate import Samples, Slots
from joader.client.reading.on_error import (
    MOST_NAMED,
    Mender,
    failed_elsewhere,
    failed_here,
    good_places,
    nearest,
)
from joader.errors import JoaderError, RowFailed, UserError
from joader.memory import pack, read
from joader.messages import (
    Deliver,
)
from joader.workers.complaint import MOST_PICKLED_BYTES, complaint


def batch_of(*values: int | None) -> tuple[Deliver, Slots]:
    """Return a batch of numbers in slots of 64 bytes; those that are None failed."""
    good = [value for value in values if value is not None]
    memory = np.zeros(64 * max(1, len(good)), np.uint8)
    layouts = []
    for place, value in enumerate(good):
        parcel = pack(value)
        parcel.write(memory[64 * place :])
        layouts.append(parcel.layout)
    positions = [100 + place for place in range(len(values))]
    failed = tuple((positions[n], "why") for n, value in enumerate(values) if value is None)
    offsets = 64 * np.arange(len(good))
    batch = Deliver(
        1,
        np.array(positions, np.int64),
        np.empty(0, np.int64),
        np.array(offsets, np.int64),
        layouts=tuple(range(len(good))),
        failed=failed,
    )
    rows = np.flatnonzero([value is not None for value in values])
    return batch, Slots(layouts, memory, offsets, rows)


def values_of(slots: Slots | None) -> list[int] | None:
    if slots is None:
        return None
    places = zip(slots.layouts, slots.offsets.tolist(), strict=True)
    return [read(layout, slots.memory[offset:]) for layout, offset in places]


def test_places_without_a_sample_are_found() -> None:
    assert good_places(batch_of(7, None, 8, None)[0]).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("places", "size", "expected"),
    [
        ([0, 1, 2], 3, [0, 1, 2]),
        ([1], 3, [0, 0, 0]),
        ([0, 3], 4, [0, 0, 1, 1]),
        ([0, 2], 3, [0, 0, 1]),
        ([2, 5], 8, [0, 0, 0, 0, 1, 1, 1, 1]),
    ],
)
def test_the_nearest_good_place_is_taken_the_earlier_of_two(
    places: list[int], size: int, expected: list[int]
) -> None:
    assert nearest(np.array(places), size).tolist() == expected


def test_skip_leaves_rows_out_and_batches_without_a_good_row() -> None:
    mender = Mender("skip", equal_steps=False)
    assert values_of(mender.mended(*batch_of(5, None, 6))) == [5, 6]
    assert mender.mended(*batch_of(None, None)) is None
    assert mender.leaves_out


def test_replace_repeats_a_row_of_the_batch_or_of_the_one_before() -> None:
    mender = Mender("replace", equal_steps=False)
    assert mender.mended(*batch_of(None, None)) is None
    assert not mender.leaves_out
    batch, slots = batch_of(None, 6, None, 7)
    assert values_of(mender.mended(batch, slots)) == [6, 6, 6, 7]
    slots.memory[:] = 0  # the slots went back
    assert values_of(mender.mended(*batch_of(None, None))) == [7, 7]


def test_ranks_leave_no_step_out() -> None:
    mender = Mender("skip", equal_steps=True)
    assert values_of(mender.mended(*batch_of(5, None))) == [5]
    assert values_of(mender.mended(*batch_of(None, None, None))) == [5, 5, 5]
    assert not mender.leaves_out


def test_the_log_names_a_few_rows_and_stays_readable(caplog: pytest.LogCaptureFixture) -> None:
    mender = Mender("skip", equal_steps=False)
    with caplog.at_level(logging.WARNING, "joader"):
        for row in range(3 * MOST_NAMED):
            mender.name(row, row, "Traceback …\nValueError: broken")
    assert len(caplog.messages) == MOST_NAMED
    assert "row 0 (position 0)" in caplog.messages[0]
    assert caplog.messages[0].endswith("is left out: ValueError: broken")
    assert "only counted" in caplog.messages[-1]


# What is raised for a row.


class Wants(Exception):
    """Cannot be made of a text."""

    def __init__(self, code: int, *, where: str) -> None:
        super().__init__(code, where)
        self.code = code


class Slotted(Exception):
    __slots__ = ("detail",)


class Refuses(Exception):
    """Is not what it was after pickle has had it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.lock = threading.Lock()

    def __reduce__(self) -> Any:
        raise TypeError("no")


class OwnGroup(ExceptionGroup[Exception]):
    pass


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def from_a_worker(error: BaseException) -> Exception:
    return failed_elsewhere(complaint(raised(error), "reading the row", __file__), 7, 9)


def slotted() -> Slotted:
    error = Slotted("x")
    error.detail = 4
    return error


FIELDS: list[tuple[Exception, dict[str, object]]] = [
    (ValueError("broken"), {}),
    (KeyError("missing"), {}),
    (FileNotFoundError(2, "No such file", "/a/b"), {"errno": 2, "filename": "/a/b"}),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), {"object": b"\xff", "end": 1}),
    (json.JSONDecodeError("bad", "{x", 1), {"doc": "{x", "pos": 1, "lineno": 1}),
    (ModuleNotFoundError("none", name="none"), {"name": "none"}),
    (Wants(3, where="here"), {"code": 3}),
    (Refuses(7), {"code": 7}),
    (slotted(), {"detail": 4}),
    (MemoryError("no room"), {}),
    (TimeoutError("slow"), {}),
]


@pytest.mark.parametrize(
    ("error", "fields"), FIELDS, ids=[type(error).__name__ for error, _ in FIELDS]
)
def test_a_row_fails_with_what_the_users_code_raised_in_a_worker(
    error: Exception, fields: dict[str, object]
) -> None:
    failed = from_a_worker(error)
    assert isinstance(failed, RowFailed)
    assert isinstance(failed, type(error))
    assert type(failed).__name__ == type(error).__name__
    assert type(failed).__module__ == type(error).__module__
    assert failed.args[0].startswith("row 7 (position 9) could not be prepared:\nreading the row")
    assert type(failed.__cause__) is type(error)
    assert failed.__cause__.args == error.args
    for name, value in fields.items():
        assert getattr(failed, name) == getattr(failed.__cause__, name) == value
    with pytest.raises(type(error)):
        raise failed
    again = pickle.loads(pickle.dumps(failed))  # as from a pool of processes
    assert isinstance(again, RowFailed)
    assert isinstance(again, type(error))
    assert str(again) == str(failed)


def test_notes_and_causes_come_from_a_worker() -> None:
    cause, error = Wants(3, where="here"), ValueError("broken")
    error.add_note("look at the file")
    error.__cause__ = cause
    failed = from_a_worker(error)
    assert failed.__notes__ == ["look at the file"]
    assert failed.__cause__ is not None
    told = failed.__cause__.__cause__
    assert isinstance(told, Wants)
    assert told.code == 3
    error.__cause__ = error  # no end
    assert isinstance(from_a_worker(error), ValueError)


@pytest.mark.parametrize("kind", [ExceptionGroup, OwnGroup])
def test_a_group_from_a_worker_is_a_group(kind: type[ExceptionGroup[Exception]]) -> None:
    found: list[BaseException] = []
    try:
        raise from_a_worker(kind("both", [ValueError("a"), Wants(5, where="b")]))
    except* Wants as group:
        found += group.exceptions
    except* ValueError as group:
        found += group.exceptions
    assert [type(error) for error in found] == [Wants, ValueError]
    assert found[0].code == 5  # type: ignore[attr-defined]


def test_what_ends_a_process_is_a_failure_in_a_worker_and_its_cause_has_the_code() -> None:
    failed = from_a_worker(SystemExit(3))
    assert type(failed) is RowFailed
    assert isinstance(failed.__cause__, SystemExit)
    assert failed.__cause__.code == 3


def test_fields_that_cannot_travel_or_are_too_large_are_left_out() -> None:
    error = Refuses(1)
    error.add_note("x" * MOST_PICKLED_BYTES)
    failed = from_a_worker(error)
    assert isinstance(failed, Refuses)
    assert failed.code == 1
    assert not hasattr(failed, "lock")
    assert not hasattr(failed, "__notes__")


def test_what_is_raised_in_the_job_is_the_exception_itself() -> None:
    error = Wants(3, where="here")
    for _ in range(2):
        assert failed_here(error, 7, 9, "reading the row") is error
    assert error.__notes__ == [
        "(joader) row 7 (position 9) could not be prepared: reading the row failed"
    ]
    assert error.args == (3, "here")


def test_who_catches_the_original_class_or_ours_catches_it() -> None:
    for kind in (RowFailed, FileNotFoundError, OSError, UserError, JoaderError):
        with pytest.raises(kind):
            raise from_a_worker(FileNotFoundError(2, "No such file", "/a/b"))


@pytest.mark.parametrize(
    "reason",
    [
        "the worker that prepared it died (signal 9), 2 times",
        "raised no_such_module:Error\nreading the row failed in worker process 3:\nError: x\n",
        "raised no_such_module:Error bm8=\nreading the row failed in worker process 3:\n",
        "raised joader.errors:RowFailed\nreading the row failed\n",
        "",
    ],
)
def test_a_reason_whose_class_is_not_known_here_is_a_plain_failure(reason: str) -> None:
    failed = failed_elsewhere(reason, 1, 2)
    assert type(failed) is RowFailed
    assert failed.__cause__ is None
    assert "raised " not in str(failed)


def test_a_class_without_its_fields_is_made_all_the_same() -> None:
    failed = failed_elsewhere("raised builtins:OSError !!\nreading the row failed\n", 1, 2)
    assert isinstance(failed, OSError)
    assert failed.errno is None


def test_a_failure_can_be_shown() -> None:
    for error in (KeyError("missing"), Wants(3, where="here"), OSError(2, "No such file", "/a/b")):
        caught = raised(error)
        assert isinstance(caught, Exception)
        for failed in (from_a_worker(error), failed_here(caught, 7, 9, "step")):
            shown = "".join(format_exception(failed))
            assert type(error).__name__ in shown
            assert "row 7 (position 9)" in shown


# Batches of objects.


def objects(*values: object) -> tuple[Samples, list[int], int]:
    """Return a batch of objects; those that are None failed."""
    good = [place for place, value in enumerate(values) if value is not None]
    return Samples([values[place] for place in good], np.array(good)), good, len(values)


def test_batches_of_objects_are_mended_as_those_of_slots_are() -> None:
    skips = Mender("skip", equal_steps=False)
    assert skips.mended_samples(*objects("a", None, "b")).samples == ["a", "b"]  # type: ignore[union-attr]
    assert skips.mended_samples(*objects(None, None)) is None
    replaces = Mender("replace", equal_steps=False)
    assert replaces.mended_samples(*objects(None, None)) is None
    mended = replaces.mended_samples(*objects(None, "a", None, "b"))
    assert mended is not None
    assert mended.samples == ["a", "a", "a", "b"]
    assert mended.rows.tolist() == [1, 1, 1, 3]
    again = replaces.mended_samples(*objects(None, None))
    assert again is not None
    assert again.samples == ["b", "b"]


def test_what_is_done_to_a_sample_reaches_none_that_it_replaces() -> None:
    mender = Mender("replace", equal_steps=False)
    mended = mender.mended_samples(*objects(None, [1], None, None, [2]))
    assert mended is not None
    for sample in mended.samples:
        sample[0] *= 10
    assert mended.samples == [[10], [10], [10], [20], [20]]
    filled = mender.mended_samples(*objects(None, None))
    assert filled is not None
    assert filled.samples == [[2], [2]]  # as it was before it was edited
    filled.samples[0][0] = 0
    assert filled.samples[1] == [2]
    assert mender.mended_samples(*objects(None)).samples == [[2]]  # type: ignore[union-attr]


def test_a_row_is_not_replaced_by_what_cannot_be_copied() -> None:
    mender = Mender("replace", equal_steps=False)
    lock = Lock()
    assert mender.mended_samples(*objects(lock, None)) is None  # so the row's failure is raised
    whole = mender.mended_samples(*objects(lock, lock))
    assert whole is not None
    assert whole.samples == [lock, lock]


def test_a_batch_of_objects_is_filled_from_the_slots_before_it() -> None:
    mender = Mender("replace", equal_steps=False)
    mender.mended(*batch_of(5, 6))
    filled = mender.mended_samples(*objects(None, None))
    assert filled is not None
    assert filled.samples == [6, 6]


def test_what_is_repeated_is_as_it_was_whatever_becomes_of_its_memory() -> None:
    room = np.zeros(3)
    mender = Mender("replace", equal_steps=False)
    mender.mended_samples(*objects(room))
    room[:] = 5
    again = mender.mended_samples(*objects(None))
    assert again is not None
    assert again.samples[0].tolist() == [0, 0, 0]
    held = memoryview(b"cannot be copied")
    mender.mended_samples(*objects(held))
    assert mender.mended_samples(*objects(None)) is None


def test_the_log_does_not_show_how_a_class_travels(caplog: pytest.LogCaptureFixture) -> None:
    mender = Mender("skip", equal_steps=False)
    reason = complaint(raised(ValueError("broken")), "reading the row", __file__)
    with caplog.at_level(logging.WARNING, "joader"):
        mender.name(3, 3, reason)
        mender.name(4, 4, "raised builtins:ValueError\n")
    assert caplog.messages[0].endswith("is left out: ValueError: broken")
    assert caplog.messages[1].endswith("no reason is known")


def test_a_stop_iteration_does_not_end_the_loop_over_a_loader() -> None:
    here = failed_here(StopIteration(3), 7, 9, "reading the row")
    for failed in (here, from_a_worker(StopIteration(3))):
        assert isinstance(failed, RowFailed)
        assert not isinstance(failed, StopIteration)
        assert isinstance(failed.__cause__, StopIteration)
        assert failed.__cause__.value == 3
