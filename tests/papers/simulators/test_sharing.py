"""What orders share, at the values of the research simulation; the slow tests at full size."""

import numpy as np
import pytest

from joader.errors import BadArgument
from papers.simulators.sharing import ORDERS, Reader, share

ALL = {n: np.arange(n) for n in (1000, 10_000)}
STARTS = np.random.default_rng(3).random(8)


def cases(n: int) -> dict[str, tuple[list[Reader], tuple[float, float, float]]]:
    """Return jobs, and the most that may be prepared with memory for 1, 5 and 20 % of the rows.

    The values are those of the research simulation; nested sets are drawn jointly, as before.
    """
    rows = np.arange(n)
    random = [np.flatnonzero(np.random.default_rng(k).permutation(n) < 0.75 * n) for k in range(4)]
    return {
        "two, 30 % apart": ([Reader(rows), Reader(rows, start=0.3)], (0.637, 0.598, 0.507)),
        "quarters": ([Reader(rows, start=k / 4) for k in range(4)], (0.479, 0.422, 0.320)),
        "speeds 1:2": ([Reader(rows, 2), Reader(rows, 1, 0.1)], (0.690, 0.661, 0.611)),
        "speeds 1:4": ([Reader(rows, 4), Reader(rows)], (0.820, 0.784, 0.683)),
        "speeds 1:1.3": ([Reader(rows, 1.3), Reader(rows)], (0.666, 0.624, 0.528)),
        "speeds 1:2:4": (
            [Reader(rows, 4), Reader(rows, 2, 0.1), Reader(rows, 1, 0.2)],
            (0.615, 0.576, 0.522),
        ),
        "eight, random starts": (
            [Reader(rows, start=float(start)) for start in STARTS],
            (0.236, 0.209, 0.159),
        ),
        "eight, speeds 1 to 2": (
            [Reader(rows, 1 + k / 7) for k in range(8)],
            (0.370, 0.329, 0.243),
        ),
        "five folds": ([Reader(rows[rows % 5 != k]) for k in range(5)], (0.364, 0.244, 0.213)),
        "four random sets": ([Reader(part) for part in random], (0.414, 0.322, 0.283)),
    }


@pytest.mark.parametrize("case", ["two, 30 % apart", "five folds"])
def test_streams_prepare_no_more_than_the_research_found(case: str) -> None:
    readers, most = cases(1000)[case]
    found = share("streams", readers, 50, passes=6).prepared_per_delivered
    assert found <= most[1] + 0.015


@pytest.mark.slow
@pytest.mark.parametrize("case", list(cases(10)))
@pytest.mark.parametrize(("column", "part"), [(0, 0.01), (1, 0.05), (2, 0.2)])
def test_streams_prepare_no_more_at_10_000_rows(case: str, column: int, part: float) -> None:
    readers, most = cases(10_000)[case]
    found = share("streams", readers, round(part * 10_000), passes=6).prepared_per_delivered
    assert found <= most[column] + 0.01


def test_nested_sets_are_as_with_dependent_sampling() -> None:
    readers = [Reader(np.arange(size)) for size in (400, 300, 200, 100)]
    found = {
        order: share(order, readers, 20, passes=3).prepared_per_delivered
        for order in ("streams", "dependent", "independent")
    }
    assert abs(found["streams"] - found["dependent"]) < 0.03
    assert found["streams"] < found["independent"] - 0.2


def test_all_jobs_complete_their_passes() -> None:
    readers = [Reader(np.arange(60), 2), Reader(np.arange(30, 90), 1, 0.5)]
    for order in ORDERS:
        run = share(order, readers, 10, passes=2)
        assert len(run.passes[0]) >= len(run.passes[1]) == 2
        for reader, orders in zip(readers, run.passes, strict=True):
            assert all(np.array_equal(np.sort(one), reader.rows) for one in orders)
        assert 0 < run.prepared_per_delivered <= 1


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(BadArgument, match="use one of streams"):
        share("best", [Reader(np.arange(3))], 1)
