"""What the locality paper says, and what comes out here."""

import numpy as np
import pytest

from joader.simulator.figures import Effort, Figure, Row
from joader.simulator.many_nodes import one_pass
from joader.simulator.papers import (
    locality_balance,
    locality_epochs,
    locality_imbalance,
    locality_model,
    locality_scaling,
    locality_waiting,
)
from joader.simulator.papers.lassen import (
    IMAGENET,
    LEARNERS,
    REGULAR_GAIN,
    THREADS_GAIN,
    cluster,
    imagenet_rates,
)

SMALL = Effort(500, 1, (1.0,))


def rows_of(figure: Figure, effort: Effort = SMALL) -> dict[tuple[str, float], Row]:
    return {(row.case, row.x): row for row in figure.rows(0, effort, lambda: None)}


def test_the_storage_rate_is_what_the_regular_loader_gains_by_threads() -> None:
    rates = imagenet_rates()
    assert rates.preparing == LEARNERS * 800

    def regular_s(preparing: float) -> float:
        return 1 / rates.storage + 1 / (2 * preparing)

    gain = regular_s(rates.preparing / THREADS_GAIN) / regular_s(rates.preparing)
    assert gain == pytest.approx(REGULAR_GAIN)


def test_imbalance_is_what_figure_6_says_from_16_nodes_on() -> None:
    found = rows_of(locality_imbalance.FIGURE)
    for row in found.values():
        if row.x == 3:
            continue
        # On 256 nodes a batch is half of these few rows, so its split varies less.
        if row.paper is not None and row.x < 256:
            assert row.baseline == pytest.approx(row.paper, abs=0.45)
            assert row.ours == pytest.approx(row.paper, abs=0.45)
    assert found["32 rows", 3].ours < found["32 rows", 16].ours


def test_medians_on_three_nodes_are_those_of_all_ways_to_draw_a_batch() -> None:
    medians = [locality_imbalance.counted_median(local) for local in (32, 64, 128)]
    # By brute force in other words: two million draws give 5/96, 7/192 and 10/384, too.
    assert medians == pytest.approx([500 / 96, 700 / 192, 1000 / 384])
    rng = np.random.default_rng(0)
    drawn = np.maximum(32 - rng.multinomial(96, [1 / 3] * 3, 20_000), 0).sum(1)
    assert 100 * np.median(drawn) / 96 == medians[0]


def test_two_heaps_stay_below_the_bound_and_near_the_optimum() -> None:
    for row in rows_of(locality_balance.FIGURE).values():
        assert row.paper is not None
        assert row.baseline is not None
        assert row.baseline <= row.ours <= min(row.paper, 1.15 * row.baseline)


def test_the_equations_are_averages_of_the_simulation() -> None:
    for row in rows_of(locality_model.FIGURE, Effort(2000, 1, (1.0,))).values():
        assert row.paper is not None
        assert 0.999 * row.paper <= row.ours <= 1.02 * row.paper


def test_learners_wait_from_16_nodes_on_and_not_if_rows_are_local() -> None:
    for row in rows_of(locality_waiting.FIGURE).values():
        assert row.ours == 0
        assert row.baseline is not None
        assert (row.baseline > 5) == (row.x >= 16)


def test_256_nodes_load_more_than_30_times_as_fast() -> None:
    total = IMAGENET.rows // 10
    seconds = {
        loader: one_pass(loader, total, cluster(256)).loading_s(imagenet_rates())
        for loader in ("regular", "local")
    }
    assert seconds["regular"] / seconds["local"] > 30


@pytest.mark.slow
def test_mummi_scales_as_the_paper_says_from_its_smallest_scale() -> None:
    found = rows_of(locality_scaling.FIGURE)
    for nodes, tolerance in ((32, 0.03), (64, 0.03), (128, 0.16)):
        row = found["MuMMI: distributed caching", nodes]
        assert row.ours == pytest.approx(row.paper, rel=tolerance)


def test_epochs_on_64_nodes_are_as_much_faster_as_the_paper_says() -> None:
    found = rows_of(locality_epochs.FIGURE)
    assert found["even at 32", 64].ours == pytest.approx(1.9, abs=0.05)
    assert found["even at 32", 16].ours == pytest.approx(1.0)
