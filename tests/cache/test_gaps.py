"""The smallest room between pinned samples, against looking at every byte."""

import hypothesis.strategies as st
from hypothesis import given

from joader.cache.cache import smallest_gap
from joader.cache.table import PREPARING, READY, Table

CAPACITY = 40
FREE, PLACED, PINNED, BEING_PREPARED = range(4)
# Samples and holes side by side: what each is, and how large.
MEMORY = st.lists(st.tuples(st.integers(FREE, BEING_PREPARED), st.integers(1, 9)), max_size=8)


def filled(parts: list[tuple[int, int]]) -> tuple[Table, dict[int, int]]:
    """Return a table of these parts one after the other, and who holds each byte."""
    table, owners, at = Table(), dict[int, int](), 0
    for kind, size in parts:
        size = min(size, CAPACITY - at)
        if kind != FREE and size:
            sample = table.add(at)
            table.state.cells[sample] = PREPARING if kind == BEING_PREPARED else READY
            table.offset.cells[sample], table.size.cells[sample] = at, size
            table.pins.cells[sample] = kind == PINNED
            owners.update(dict.fromkeys(range(at, at + size), sample))
        at += size
    return table, owners


@given(parts=MEMORY, size=st.integers(1, 20))
def test_it_starts_after_what_stays_and_names_all_who_have_to_leave(
    parts: list[tuple[int, int]], size: int
) -> None:
    table, owners = filled(parts)

    def stays(byte: int) -> bool:
        sample = owners.get(byte)
        return sample is not None and bool(
            table.pins.cells[sample] or table.state.cells[sample] == PREPARING
        )

    rooms, start = [], 0
    for byte in range(CAPACITY + 1):
        if byte == CAPACITY or stays(byte):
            if byte - start >= size:
                rooms.append((byte - start, start))
            start = byte + 1
    found = smallest_gap(table, size, CAPACITY)
    if not rooms:
        assert found is None
        return
    assert found is not None
    at, leave = found
    assert at == min(rooms)[1]
    assert set(leave) == {owners[byte] for byte in range(at, at + size) if byte in owners}
    assert len(leave) == len(set(leave))


def test_samples_without_a_slot_are_in_nobodys_way() -> None:
    table = Table()
    table.state.cells[table.add(1)] = PREPARING
    assert smallest_gap(table, CAPACITY, CAPACITY) == (0, [])
