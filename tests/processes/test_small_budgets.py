"""No rows, one row, no room: each job is served or refused with a number, and none hangs."""

import threading
from typing import Any

import numpy as np
import pytest

from joader.errors import Refusal
from tests.processes.conftest import Node
from tests.processes.odd_data import Odd
from tests.processes.test_bad_input import loader, rows_of

KIB = 1024


class Blocks:
    """Row i is an array of so many KiB, full of i, and i."""

    def __init__(self, length: int, size_kib: int) -> None:
        self.length, self.size_kib = length, size_kib

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> Any:
        return np.full((self.size_kib, KIB), row % 251, np.uint8), row


@pytest.fixture
def small_node(node: Node, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("JOADER_RUNTIME", str(node.run))
    return node


@pytest.mark.parametrize(("length", "batch_size"), [(0, 4), (1, 1), (1, 64), (3, 1000)])
@pytest.mark.parametrize("shuffle", [True, False])
def test_datasets_of_hardly_any_rows(
    shared_node: Node, length: int, batch_size: int, shuffle: bool
) -> None:
    with loader(Odd(length, {}), batch_size=batch_size, shuffle=shuffle) as batches:
        for _ in range(2):
            got = [row for _, rows in batches for row in rows.tolist()]
            assert sorted(got) == list(range(length))
        assert len(batches) == bool(length)
    with loader(Odd(length, {}), batch_size=batch_size, drop_last=True) as batches:
        assert len(list(batches)) == (length >= batch_size)


def test_a_budget_for_less_than_two_batches_is_refused_with_the_number(small_node: Node) -> None:
    small_node.up("256KiB")
    with pytest.raises(Refusal, match="joader up --memory"):
        rows_of(Blocks(60, 16), batch_size=12, fallback=False)
    assert sorted(rows_of(Blocks(60, 16), batch_size=4)) == list(range(60))


def test_a_batch_larger_than_the_dataset_needs_room_for_the_dataset_alone(
    small_node: Node,
) -> None:
    small_node.up("1MiB")
    assert sorted(rows_of(Blocks(3, 16), batch_size=10**12)) == [0, 1, 2]
    batches = [[0, 1], [2, 2, 2, 1, 0]]  # a sampler may ask for more than there is
    with loader(Blocks(3, 16), batch_size=1, batch_sampler=batches) as some:
        assert [rows.tolist() for _, rows in some] == batches


def test_64_jobs_on_a_small_budget_are_served_or_refused_and_none_hangs(small_node: Node) -> None:
    """Each needs two batches of 4 x 16 KiB; 4 MiB are for about half of them."""
    small_node.up("4MiB")
    served: list[list[int]] = []
    refused: list[str] = []
    all_here = threading.Barrier(64)  # nobody leaves before all have come

    def read(number: int) -> None:
        key = f"data{number % 4}"
        with loader(Blocks(48, 16), shuffle=True, key=key, fallback=False) as batches:
            rows: list[int] = []
            try:
                for _, some in batches:
                    if not rows:
                        all_here.wait(60)
                    rows += some.tolist()
            except Refusal as error:
                refused.append(str(error))
                all_here.wait(60)
            else:
                served.append(rows)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(served) + len(refused) == 64
    assert len(served) >= 16
    assert len(refused) >= 16
    for rows in served:
        assert sorted(rows) == list(range(48))
    for reason in refused:
        assert "joader up --memory" in reason
        assert any(word.isdecimal() for word in reason.split())
    memory = small_node.status()["memory"]
    assert memory["pinned_bytes"] == 0
    assert memory["used_bytes"] <= memory["budget_bytes"]


class SomeLarge(Blocks):
    """Rows of different sizes, some of them larger than the budget."""

    def __getitem__(self, row: int) -> Any:
        size_kib = KIB + 1 if row % 40 == 19 else self.size_kib + row % 2
        return np.zeros((size_kib, KIB), np.uint8), row


def test_rows_that_are_reported_with_one_larger_than_the_budget_come_all_the_same(
    small_node: Node,
) -> None:
    small_node.up("1MiB")
    options: Any = {"num_workers": 1, "on_error": "skip", "fallback": False, "timeout": 10}
    with loader(SomeLarge(400, 2), batch_size=32, collate_fn=list, **options) as batches:
        rows = [row for some in batches for _, row in some]
    assert rows == [row for row in range(400) if row % 40 != 19]
