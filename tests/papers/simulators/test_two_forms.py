"""Raw and prepared samples side by side, against one form alone and the best there can be."""

from random import Random

import pytest

from joader.cache.two_forms import PREPARED, RAW, Costs
from joader.errors import BadArgument
from papers.simulators.two_forms import spent_per_row

ROWS = 300
DEAR_READ = Costs(0.020, 0.008, 110_000, 196_000)
DEAR_PREPARE = Costs(0.002, 0.008, 110_000, 196_000)


def best(costs: Costs, memory: float) -> float:
    """Return the least that can be spent per row, with so much memory per row (a linear program).

    Rows are kept by what they save per byte; where raw is denser, prepared ones replace raw ones.
    """
    everything = costs.read_s + costs.prepare_s
    if costs.read_s / costs.raw_bytes <= everything / costs.prepared_bytes:
        return everything * max(0.0, 1.0 - memory / costs.prepared_bytes)
    if memory <= costs.raw_bytes:
        return everything - costs.read_s * memory / costs.raw_bytes
    more = costs.prepared_bytes - costs.raw_bytes
    return costs.prepare_s * max(0.0, 1.0 - (memory - costs.raw_bytes) / more)


@pytest.mark.parametrize("costs", [DEAR_READ, DEAR_PREPARE])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 1.2, 1.6])
def test_it_is_nearly_as_good_as_can_be(costs: Costs, part: float) -> None:
    memory = part * costs.raw_bytes
    got = spent_per_row("both", [costs] * ROWS, int(memory * ROWS))
    everything = costs.read_s + costs.prepare_s
    assert best(costs, memory) - 1e-9 <= got <= best(costs, memory) + 0.03 * everything


@pytest.mark.parametrize("part", [0.2, 0.9, 1.2, 1.6])
def test_it_is_no_worse_than_one_form_alone(part: float) -> None:
    draw = Random(3)
    sizes = [0.2 + draw.lognormvariate(-0.24, 0.69) for _ in range(ROWS)]
    costs = [Costs(0.02, 0.004 * size, int(40_000 * size), 196_000) for size in sizes]
    memory = int(part * sum(one.raw_bytes for one in costs))
    got = {way: spent_per_row(way, costs, memory) for way in (RAW, PREPARED, "both", "soonest")}
    assert got["both"] <= 1.03 * min(got[RAW], got[PREPARED])
    assert got["both"] < got["soonest"]


def test_without_memory_everything_is_done_again() -> None:
    assert spent_per_row("both", [DEAR_READ] * 20, 0) == pytest.approx(0.028)
    assert spent_per_row("nothing", [DEAR_READ] * 20, 10**9) == pytest.approx(0.028)


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(BadArgument, match="there is no way 'all'; use one of nothing, raw"):
        spent_per_row("all", [DEAR_READ], 1)
