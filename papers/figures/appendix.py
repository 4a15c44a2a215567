"""The figures of the JOADER paper and its appendix that can be rerun, and what it says about each.

Bounds (no run prepares less than the union) hold at any size and are always given. The paper's
measurements are given only for a run as large as the paper's.
"""

from collections.abc import Callable, Sequence

from papers.figure import (
    FULL,
    Effort,
    Figure,
    PaperValue,
    compare_policies,
    compare_samplers,
    expected_misses_of_nested_pair,
    mean_union,
    nested,
    overlapping,
    random_sets,
)
from papers.figures.insertion import datasets, insertion
from papers.runs import Rows

APPENDIX = "JOADER appendix A.2"
SLOTS, PREPARED = "cache size (samples)", "samples prepared"
ALONE = "every job shuffles alone"
PERCENTS = (100, 75, 50, 25)
RANDOM_SETS, SIZES = random_sets(4), nested(*PERCENTS)
OTHER_POLICIES = {"LRU": "lru", "FIFO": "fifo", "random replacement": "random"}


def always_union(
    case: str, size: int, sets_by_seed: Sequence[list[Rows]], effort: Effort
) -> float | None:
    """Figure 4a: every row is prepared once, at any cache size."""
    return mean_union(sets_by_seed)


def nested_pair(
    case: str, size: int, sets_by_seed: Sequence[list[Rows]], effort: Effort
) -> float | None:
    """Figure 4b: "The cache held 30% dataset could get the best performance for DSA".

    At one slot it gives no number; there the mean of its rule is *expected*, by formula.
    """
    larger, smaller = sets_by_seed[0]
    if size == 1:
        return expected_misses_of_nested_pair(larger.size, smaller.size)
    return mean_union(sets_by_seed) if size >= 0.3 * larger.size else None


def at_one_slot(reported: float) -> PaperValue:
    """Figures 6a and 6b: the text gives the misses of the paper's rule with a one-slot cache."""

    def paper(
        case: str, size: int, sets_by_seed: Sequence[list[Rows]], effort: Effort
    ) -> float | None:
        return reported if effort == FULL and size == 1 and case == "paper's rule" else None

    return paper


def union_from_60_percent(
    case: str, size: int, sets_by_seed: Sequence[list[Rows]], effort: Effort
) -> float | None:
    """Figure 5: "the best performance with only caching the 60% dataset"."""
    best = mean_union(sets_by_seed)
    return best if size >= 0.6 * best else None


def rows_and_seeds(effort: Effort) -> str:
    """Describe how large a run over sets is."""
    seeds = "1 seed" if effort.seeds == 1 else f"mean of {effort.seeds} seeds"
    return f"largest set {effort.size:,} rows, {seeds}"


def datasets_and_rows(effort: Effort) -> str:
    """Describe how large a run of the insertion is."""
    count, low, high = datasets(effort)
    return f"{count} datasets of {low:,} to {high:,} rows"


def runs(curves: int) -> Callable[[Effort], int]:
    """Return the number of steps for this many curves: one per cache size and seed."""
    return lambda effort: curves * len(effort.shares) * effort.seeds


FIG4A = Figure(
    name="joader-fig4a",
    source=f"{APPENDIX}, figure 4a",
    title="Two jobs on sets of equal size",
    scale=rows_and_seeds,
    case_label="in common",
    x_label=SLOTS,
    y_label=PREPARED,
    ours="joader",
    baseline=ALONE,
    varies="sets",
    rows=compare_samplers(
        {f"{p} %": (overlapping(p), "dependent") for p in PERCENTS}, always_union
    ),
    steps=runs(2 * len(PERCENTS)),
)
FIG4B = Figure(
    name="joader-fig4b",
    source=f"{APPENDIX}, figure 4b",
    title="Two jobs, one set inside the other",
    scale=rows_and_seeds,
    case_label="second set",
    x_label=SLOTS,
    y_label=PREPARED,
    paper_label="paper or expected",
    ours="joader",
    baseline=ALONE,
    varies="sets",
    rows=compare_samplers({f"{p} %": (nested(100, p), "dependent") for p in PERCENTS}, nested_pair),
    steps=runs(2 * len(PERCENTS)),
)
RANDOM4 = Figure(
    name="joader-random4",
    source=f"{APPENDIX}, four random sets (text to figure 6a)",
    title="Four jobs, each on 3/4 of all rows at random",
    scale=rows_and_seeds,
    case_label="rule",
    x_label=SLOTS,
    y_label=PREPARED,
    ours="dependent sampling",
    baseline=ALONE,
    varies="ours",
    rows=compare_samplers(
        {"joader": (RANDOM_SETS, "dependent"), "paper's rule": (RANDOM_SETS, "paper")},
        at_one_slot(20_000),
    ),
    steps=runs(3),
)
SIZES4 = Figure(
    name="joader-sizes4",
    source=f"{APPENDIX}, four sizes (text to figure 6b)",
    title="Four jobs on 100, 75, 50 and 25 % of the rows",
    scale=rows_and_seeds,
    case_label="rule",
    x_label=SLOTS,
    y_label=PREPARED,
    ours="dependent sampling",
    baseline=ALONE,
    varies="ours",
    rows=compare_samplers(
        {"joader": (SIZES, "dependent"), "paper's rule": (SIZES, "paper")},
        at_one_slot(16_000),
    ),
    steps=runs(3),
)
FIG5A = Figure(
    name="joader-fig5a",
    source=f"{APPENDIX}, figure 5a",
    title="Four random sets under different eviction policies",
    scale=rows_and_seeds,
    case_label="baseline",
    x_label=SLOTS,
    y_label=PREPARED,
    ours="RefCnt",
    baseline="other policies",
    varies="baseline",
    rows=compare_policies(RANDOM_SETS, OTHER_POLICIES, union_from_60_percent),
    steps=runs(1 + len(OTHER_POLICIES)),
)
FIG5B = Figure(
    name="joader-fig5b",
    source=f"{APPENDIX}, figure 5b",
    title="Four sizes under different eviction policies",
    scale=rows_and_seeds,
    case_label="baseline",
    x_label=SLOTS,
    y_label=PREPARED,
    ours="RefCnt",
    baseline="other policies",
    varies="baseline",
    rows=compare_policies(SIZES, OTHER_POLICIES, union_from_60_percent),
    steps=runs(1 + len(OTHER_POLICIES)),
)
INSERT = Figure(
    name="joader-insert",
    source="JOADER section 6, insertion of 128 datasets",
    title="Time for a dataset to join",
    scale=datasets_and_rows,
    case_label="step",
    x_label="datasets",
    y_label="seconds per dataset",
    ours="joader",
    baseline="shuffling alone",
    varies="sets",
    rows=insertion,
    steps=lambda effort: datasets(effort)[0] + 1,
)
FIGURES = {figure.name: figure for figure in (FIG4A, FIG4B, RANDOM4, SIZES4, FIG5A, FIG5B, INSERT)}
