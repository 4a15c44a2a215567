"""Loading on up to 256 nodes, Figures 8 to 11 of the locality paper."""

import pytest

from papers.figure import Effort
from papers.figures import locality_scaling
from papers.figures.lassen import (
    IMAGENET,
    cluster,
    imagenet_rates,
)
from papers.simulators.many_nodes import one_pass
from tests.papers.figures.rows import by_point

SMALL = Effort(500, 1, (1.0,))


def test_256_nodes_load_more_than_30_times_as_fast() -> None:
    total = IMAGENET.rows // 10
    seconds = {
        loader: one_pass(loader, total, cluster(256)).loading_s(imagenet_rates())
        for loader in ("regular", "local")
    }
    assert seconds["regular"] / seconds["local"] > 30


@pytest.mark.slow
def test_mummi_scales_as_the_paper_says_from_its_smallest_scale() -> None:
    found = by_point(locality_scaling.FIGURE, SMALL)
    for nodes, tolerance in ((32, 0.03), (64, 0.03), (128, 0.16)):
        row = found["MuMMI: distributed caching", nodes]
        assert row.ours == pytest.approx(row.paper, rel=tolerance)
