"""Bytes that may leave, by how many jobs need them: counted one by one, or from a part of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joader.cache import READY, Demand, Table, by_need
from joader.cache.by_need import parts_by_need

HOMES = 12


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=HOMES),
    pinned=st.sets(st.integers(0, HOMES)),
    needs=st.lists(st.sets(st.integers(0, HOMES - 1)), max_size=4),
)
def test_each_sample_counts_with_its_bytes_for_how_many_need_it(sizes, pinned, needs) -> None:  # type: ignore[no-untyped-def]
    table, demand = Table(size=2), Demand()
    for job, homes in enumerate(needs):
        demand.begin(job, sorted(homes))
    expected = {0: 0, 1: 0, 2: 0}
    for home, size in enumerate(sizes):
        sample = table.add(home)
        table.state.cells[sample], table.size.cells[sample] = READY, size
        if home in pinned:
            table.pins.cells[sample] = 1
        else:
            expected[min(2, sum(home in homes for homes in needs))] += size
    total = sum(expected.values())
    many, one = parts_by_need(table, demand)
    if total:
        np.testing.assert_allclose([many, one], [expected[2] / total, expected[1] / total])
    else:
        assert (many, one) == (0.0, 0.0)


def test_of_many_samples_a_part_is_looked_at(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(by_need, "MOST_SEEN", 100)
    table, demand = Table(), Demand()
    demand.begin("one", np.arange(500))
    looked_at = []
    monkeypatch.setattr(
        demand, "counts", lambda homes: looked_at.append(homes.size) or (homes < 500) * 1
    )
    for home in range(1000):
        sample = table.add(home)
        table.state.cells[sample], table.size.cells[sample] = READY, 64
    assert parts_by_need(table, demand) == (0.0, 0.5)
    assert looked_at == [100]
