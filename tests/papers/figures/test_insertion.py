"""The insertion of datasets is the paper's at full size, and measured as what it says."""

from papers.figure import FULL, Effort
from papers.figures.insertion import datasets, insertion


def test_at_full_size_it_is_the_paper_s_experiment() -> None:
    assert datasets(FULL) == (128, 1_000_000, 2_000_000)


def test_the_first_draw_comes_on_top_of_joining() -> None:
    join, with_draw = insertion(0, Effort(200, 1, (1.0,)), lambda: None)
    assert 0 < join.ours < with_draw.ours
    assert join.x == with_draw.x == 2
    assert join.baseline
    assert with_draw.baseline is None
