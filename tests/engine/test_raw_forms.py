"""Raw forms of rows: kept where reading is dear and memory short, and prepared from again."""

import pytest

from joader.cache import READY, two_forms
from joader.cache.two_forms import Costs
from joader.messages import Prepare
from papers.simulators.two_forms import spent_per_row
from tests.engine.kitchen import Kitchen

DEAR_READ = Costs(0.020, 0.008, 110_000, 196_000)
DEAR_PREPARE = Costs(0.002, 0.008, 110_000, 196_000)
CHEAP_READ = Costs(0.0001, 0.008, 110_000, 196_000)
ROWS = 400


def kitchen(costs: Costs, memory_of_raw: float, rows: int = ROWS) -> Kitchen:
    return Kitchen(int(memory_of_raw * costs.raw_bytes * rows), costs, rows)


def raw_forms(kitchen: Kitchen) -> int:
    """Return how many raw forms are here."""
    engine = kitchen.engine
    raw = engine._recipes._open["stored"]
    homes = engine._stock.table.home.all[engine._stock.table.everyone()]
    return int(((homes >= raw.base) & (homes < raw.base + raw.row_limit)).sum())


@pytest.mark.parametrize("order", ["shared", "seeded", "given"])
@pytest.mark.parametrize("memory", [0.9, 1.2])
def test_both_forms_save_more_than_prepared_samples_alone(order: str, memory: float) -> None:
    spent = {}
    for stored in ("stored", ""):
        one = kitchen(DEAR_READ, memory)
        one.join(1, "recipe", order, stored)
        one.passes(1, 3)
        spent[stored] = one.passes(1, 3, first=3)
    assert spent["stored"] < 0.93 * spent[""]
    # Slots are cut from few runs here, so not all of the memory can be used.
    simulated = spent_per_row("both", [DEAR_READ] * ROWS, int(memory * 110_000 * ROWS))
    assert spent["stored"] < simulated + 0.1 * 0.028


def test_with_memory_in_fine_runs_it_is_nearly_as_simulated() -> None:
    one = kitchen(DEAR_READ, 0.9, rows=1500)
    one.join(1, "recipe")
    one.passes(1, 3)
    simulated = spent_per_row("both", [DEAR_READ] * 1500, int(0.9 * 110_000 * 1500))
    assert one.passes(1, 2, first=3) == pytest.approx(simulated, rel=0.12)


@pytest.mark.parametrize(
    ("costs", "memory", "stored"),
    [
        (DEAR_READ, 3.0, "stored"),  # all prepared samples fit
        (DEAR_PREPARE, 0.9, "stored"),  # a byte of them saves more
        (CHEAP_READ, 0.9, "stored"),
        (DEAR_READ, 0.9, ""),  # the dataset reads and decodes in one call
    ],
)
def test_where_it_gains_nothing_no_raw_form_is_kept(
    costs: Costs, memory: float, stored: str
) -> None:
    one, without = kitchen(costs, memory), kitchen(costs, memory)
    one.join(1, "recipe", stored=stored)
    without.join(1, "recipe", stored="")
    assert one.passes(1, 4) == pytest.approx(without.passes(1, 4), rel=0.03)
    assert not one.from_raw
    assert not stored or not raw_forms(one)


def test_another_way_to_prepare_starts_from_raw_forms() -> None:
    one = kitchen(DEAR_READ, 1.5)
    one.join(1, "large")
    one.passes(1, 1)
    one.join(2, "small")
    one.passes(2, 1)
    one.passes(1, 1, first=1)
    before = one.read
    one.passes(2, 1, first=1)
    assert one.read - before < ROWS / 2


def test_who_reads_rows_as_they_are_stored_takes_raw_forms() -> None:
    one = kitchen(DEAR_READ, 0.9)
    one.join(1, "recipe")
    one.passes(1, 3)
    assert raw_forms(one) > ROWS / 4
    one.join(2, "stored", stored="")
    before = one.read
    one.passes(2, 1)
    got = one.engine.statistics().jobs[2]
    assert one.read - before < ROWS - ROWS / 4 + 1
    assert got.delivered == ROWS == got.prepared + got.hits
    assert got.shared > ROWS / 4


def test_the_budget_holds_with_both_forms() -> None:
    one = kitchen(DEAR_READ, 0.9)
    one.join(1, "recipe")
    for epoch in range(3):
        one.passes(1, 1, first=epoch)
        table, here = one.engine._stock.table, one.engine._stock.table.everyone()
        assert (table.state.all[here] == READY).all()
        used = int(table.size.all[here].sum())
        assert used == one.engine._cache.used_bytes <= int(0.9 * 110_000 * ROWS)


def test_a_raw_form_stays_while_a_row_is_prepared_from_it() -> None:
    one = kitchen(DEAR_READ, 1.0)
    one.join(1, "recipe")
    one.passes(1, 3)
    pinned = []
    said = one._carry_out

    def look(instruction: object) -> None:
        if isinstance(instruction, Prepare):
            pins = one.engine._stock.table.pins.cells
            raws = zip(instruction.raws, instruction.raw_offsets, strict=True)
            pinned.extend(pins[raw] for raw, offset in raws if offset >= 0)
        said(instruction)

    one._carry_out = look  # type: ignore[method-assign, assignment]
    one.passes(1, 1, first=3)
    assert len(pinned) > ROWS / 4
    assert min(pinned) >= 1
    assert one.engine.pinned_bytes == 0


def test_first_rows_say_nothing_of_what_reading_costs() -> None:
    one = kitchen(DEAR_READ, 0.9, rows=two_forms.LEAST_TIMED)
    one.join(1, "recipe")
    one.passes(1, 1)
    assert not raw_forms(one)
