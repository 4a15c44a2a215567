"""What every storage promises: one suite, which the tests of each kind inherit.

A kind writes ROWS rows (`write`), says what it expects of them (`expected`), and how its data is
changed (`change`). Everything else is the same for all.
"""

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from joader.errors import BadArgument, BadRows, MissingExtra, NoData, UnknownColumn, UnknownRow
from joader.recipe.fingerprint import fingerprint
from joader.storage import Storage, Values, open_storage

ROWS = 40
SCATTERED = [7, 0, 39, 7, 12, 38, 1, 20]  # one twice

IN_ANOTHER_PROCESS = """
import pickle, sys
storage, rows, columns = pickle.load(sys.stdin.buffer)
values = {name: list(column) for name, column in storage.read(rows, columns).items()}
named = None if {lazy} else storage.fingerprint()
sys.stdout.buffer.write(pickle.dumps((values, named, "torch" in sys.modules)))
"""


def body(row: int) -> bytes:
    """Return what a row's image is: bytes of another length in each."""
    return b"\xff\xd8 row %d " % row + bytes([row]) * (37 * row % 101)


class StorageContract:
    """Inherited by the tests of each kind."""

    package: ClassVar[str | None] = None  # without it the kind cannot be opened
    extra: ClassVar[str] = ""
    effort: ClassVar[int] = 4  # times what is tried with threads and forks; less if a read is dear
    names_itself: ClassVar[bool] = True  # whether it has a fingerprint without being given one

    def write(self, folder: Path) -> Any:
        """Write rows into an empty folder and return what open_storage takes."""
        raise NotImplementedError

    def change(self, folder: Path) -> Any:
        """Change what was written, and return what open_storage takes."""
        raise NotImplementedError

    def expected(self) -> dict[str, Values]:
        """Return the values of all columns, in the order of rows."""
        raise NotImplementedError

    def sample_columns(self) -> list[str]:
        return list(self.expected())

    def open(self, what: Any, **options: Any) -> Storage:
        return open_storage(what, **options)

    def refused(self, folder: Path) -> list[Any]:
        """Return things of this kind that hold nothing."""
        return []

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "cache"))
        folder = tmp_path / "data"
        folder.mkdir()
        return folder

    @pytest.fixture
    def storage(self, folder: Path) -> Any:
        with self.open(self.write(folder)) as storage:
            yield storage

    def test_it_knows_its_rows_and_columns(self, storage: Storage) -> None:
        assert len(storage) == ROWS
        assert set(storage.columns) == set(self.expected())
        assert list(storage.sample_columns) == self.sample_columns()

    def test_types_that_are_told_are_those_of_the_values(self, storage: Storage) -> None:
        for name, values in storage.read([0, 3], list(storage.columns)).items():
            told = storage.columns[name]
            if told in ("bytes", "str"):
                assert {type(value).__name__ for value in values} == {told}
            elif told is not None and not any(value is None for value in values):
                assert isinstance(values, np.ndarray)
                assert values.dtype == np.dtype(told)

    def test_rows_come_in_the_order_asked_for_also_twice(self, storage: Storage) -> None:
        self.check(storage, SCATTERED)
        self.check(storage, np.arange(ROWS)[::-1])
        self.check(storage, np.array([3], np.uint8))

    def test_only_the_columns_asked_for_are_given(self, storage: Storage) -> None:
        for name in self.expected():
            assert list(storage.read([1], [name])) == [name]

    def test_no_rows_give_no_values(self, storage: Storage) -> None:
        assert {len(values) for values in storage.read([], list(storage.columns)).values()} == {0}

    def test_a_sample_has_the_sample_columns_in_their_order(self, storage: Storage) -> None:
        expected = self.expected()
        whole = [[expected[name][row] for name in self.sample_columns()] for row in SCATTERED]
        for samples in (storage.__getitems__(SCATTERED), [storage[row] for row in SCATTERED]):
            parts = [[one] if len(self.sample_columns()) == 1 else list(one) for one in samples]
            assert list(map(same_form, parts)) == list(map(same_form, whole))

    def test_it_can_be_iterated(self, storage: Storage) -> None:
        assert sum(1 for _ in storage) == ROWS

    @pytest.mark.parametrize("row", [ROWS, -1, 2**40])
    def test_a_row_it_does_not_have_is_refused(self, storage: Storage, row: int) -> None:
        with pytest.raises(
            UnknownRow, match=f"row {row} does not exist: the storage has {ROWS} rows"
        ):
            storage.read([0, row])
        with pytest.raises(IndexError):
            storage[row]

    @pytest.mark.parametrize("rows", [[0.5], [[1]], 3, ["a"]])
    def test_rows_are_a_flat_array_of_integers(self, storage: Storage, rows: Any) -> None:
        with pytest.raises(BadRows, match="flat array of integers"):
            storage.read(rows)

    def test_a_wrong_column_is_refused_with_the_list_of_columns(self, folder: Path) -> None:
        what = self.write(folder)
        with self.open(what) as storage:
            with pytest.raises(UnknownColumn, match="no column 'nothing'") as raised:
                storage.read([0], ["nothing"])
            assert all(repr(name) in str(raised.value) for name in self.expected())
            with pytest.raises(BadArgument, match="pass a list of names"):
                storage.read([0], "nothing")

    def test_the_columns_of_a_sample_can_be_chosen(self, folder: Path) -> None:
        name = list(self.expected())[-1]
        with self.open(self.write(folder), columns=[name]) as storage:
            assert same_form(storage[5]) == same_form(self.expected()[name][5])
            assert list(storage.read([5])) == [name]

    def test_values_are_the_readers_own(self, storage: Storage) -> None:
        for values in storage.read(SCATTERED, list(storage.columns)).values():
            for value in [values, *values]:
                if isinstance(value, np.ndarray) and value.size:
                    value[...] = 0  # raises where it is a read-only view
        self.check(storage, SCATTERED)

    def test_threads_read_at_the_same_time(self, storage: Storage) -> None:
        orders = [np.random.default_rng(seed).permutation(ROWS) for seed in range(4 * self.effort)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda rows: self.check(storage, rows), orders))

    def test_another_process_reads_the_same_and_finds_the_same_name(self, storage: Storage) -> None:
        self.check(storage, [1])
        columns = list(storage.columns)
        lazy = not self.names_itself
        printed = subprocess.run(
            [sys.executable, "-c", IN_ANOTHER_PROCESS.replace("{lazy}", str(lazy))],
            input=pickle.dumps((storage, SCATTERED, columns)),
            env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        ).stdout
        values, named, has_torch = pickle.loads(printed)
        self.compare(values, SCATTERED)
        assert named == (None if lazy else storage.fingerprint())
        assert not has_torch

    def test_a_forked_child_opens_its_own_handles(self, storage: Storage) -> None:
        self.check(storage, [1])

        def look() -> None:
            self.check(storage, SCATTERED)
            if self.names_itself:
                assert storage.fingerprint() == named
            storage.close()
            self.check(storage, [1])

        named = storage.fingerprint() if self.names_itself else None
        in_a_fork(look)
        in_a_fork(lambda: in_a_fork(look))
        self.check(storage, SCATTERED)

    def test_children_that_are_forked_while_threads_read_can_read(self, storage: Storage) -> None:
        going_on = True

        def read_on(seed: int) -> None:
            while going_on:
                self.check(storage, np.random.default_rng(seed).permutation(ROWS))

        with ThreadPoolExecutor(2) as pool:
            threads = [pool.submit(read_on, seed) for seed in range(2)]
            try:
                for _ in range(self.effort):
                    in_a_fork(lambda: self.check(storage, SCATTERED))
            finally:
                going_on = False
            for thread in threads:
                thread.result()

    def test_it_can_be_read_after_it_was_closed(self, storage: Storage) -> None:
        self.check(storage, [1])
        storage.close()
        storage.close()
        self.check(storage, SCATTERED)

    def test_its_name_is_the_same_until_the_data_changes(self, folder: Path) -> None:
        what = self.write(folder)
        first, second = self.open(what), self.open(what)
        before = fingerprint(first)
        assert fingerprint(second) == before
        own = first.fingerprint() if self.names_itself else None
        first.close()
        second.close()
        changed = self.open(self.change(folder))
        assert fingerprint(changed) != before
        if self.names_itself:
            assert changed.fingerprint() != own
        changed.close()

    def test_jobs_that_choose_other_columns_do_not_have_one_name(self, folder: Path) -> None:
        what = self.write(folder)
        one = self.open(what, columns=[next(iter(self.expected()))])
        other = self.open(what, columns=[next(iter(self.expected()))] * 2)
        assert fingerprint(one) != fingerprint(other)
        one.close()
        other.close()

    def test_a_misspelt_option_is_refused(self, folder: Path) -> None:
        with pytest.raises(BadArgument, match="has no option 'colums'"):
            self.open(self.write(folder), colums=["a"])

    def test_nothing_stored_is_refused(self, folder: Path) -> None:
        for what in self.refused(folder):
            with pytest.raises(NoData):
                self.open(what)

    def test_a_missing_package_is_named(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if self.package is None:
            return
        storage = self.open(self.write(folder))
        storage.close()
        for name in [*sys.modules]:
            if name.partition(".")[0] == self.package:
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, self.package, None)
        with pytest.raises(MissingExtra, match=rf"pip install '\.\[{self.extra}\]'"):
            storage.read([0])

    def check(self, storage: Storage, rows: Any) -> None:
        self.compare(storage.read(rows, list(storage.columns)), rows)

    def compare(self, found: dict[str, Any], rows: Any) -> None:
        expected = self.expected()
        assert set(found) == set(expected)
        for name, values in found.items():
            assert len(values) == len(rows)
            for row, value in zip(rows, values, strict=True):
                assert same_form(value) == same_form(expected[name][row]), (name, row)


def in_a_fork(look: Callable[[], None]) -> None:
    """Run something in a forked child, which must end without an error, and in time."""
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            look()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def same_form(value: Any) -> Any:
    """Return a value in a form that can be compared."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.str, value.tolist()
    if isinstance(value, list | tuple):
        return [same_form(one) for one in value]
    return value
