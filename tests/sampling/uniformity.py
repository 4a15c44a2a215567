"""Statistics that tell a uniform sampler from one that cheats.

All of them condition on the history: what *all* jobs drew in earlier rounds. A sampler that is
uniform on average but whose next draw can be guessed from what other jobs did has to fail.

Error probability: every p-value is compared with ALPHA = 1e-6, and one run of the tests computes
fewer than 1,000 of them, so a right sampler would fail with probability below 1e-3. Seeds are
fixed: what passes keeps passing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import erfc, sqrt

import numpy as np
from scipy.stats import binomtest, chi2

ALPHA = 1e-6

Round = dict[str, int]  # job -> the row it drew
Play = Callable[[int], list[Round]]  # seed -> the rounds of one run


def next_draw_p_values(
    play: Play, seeds: Iterable[int], rows: dict[str, Sequence[int]], *, pairs: bool = False
) -> dict[tuple[str, int], float]:
    """Return by job and position the p-value of "uniform over the unread, given the history".

    With `pairs` it is the next two draws together. Runs are grouped by their exact joint history;
    chi-squared sums over all histories seen often enough to be judged.
    """
    counts: dict[tuple[str, int, object], Counter[object]] = defaultdict(Counter)
    for seed in seeds:
        history: list[tuple[tuple[str, int], ...]] = []
        rounds = play(seed)
        for number, drawn in enumerate(rounds):
            key = tuple(history)
            for job, row in drawn.items():
                if pairs:
                    later = next((r[job] for r in rounds[number + 1 :] if job in r), None)
                    if later is not None:
                        counts[job, number, key][row, later] += 1
                else:
                    counts[job, number, key][row] += 1
            history.append(tuple(sorted(drawn.items())))
    statistic: dict[tuple[str, int], float] = defaultdict(float)
    freedom: dict[tuple[str, int], int] = defaultdict(int)
    for (job, number, key), seen in counts.items():
        read = {row for past in key for who, row in past if who == job}  # type: ignore[attr-defined]
        left = len(set(rows[job]) - read)
        outcomes = left * (left - 1) if pairs else left
        expected = sum(seen.values()) / outcomes if outcomes else 0
        if outcomes > 1 and expected >= 5:
            unseen = outcomes - len(seen)
            total = sum((n - expected) ** 2 for n in seen.values()) + unseen * expected**2
            statistic[job, number] += total / expected
            freedom[job, number] += outcomes - 1
    return {at: float(chi2.sf(statistic[at], freedom[at])) for at in statistic}


def subset_p_value(hits: Iterable[tuple[bool, float]]) -> float:
    """Return the p-value of "each draw falls into a known set with just this probability".

    `hits` gives for each draw whether it did, and the probability at that moment; the differences
    are a martingale, so their sum over its standard deviation is normal.
    """
    outcomes = list(hits)
    surplus = sum(hit - chance for hit, chance in outcomes)
    variance = sum(chance * (1 - chance) for _, chance in outcomes)
    return erfc(abs(surplus) / sqrt(2 * variance)) if variance else 1.0


def rank_p_value(ranks: Iterable[tuple[int, int]], bins: int = 8) -> float:
    """Return the p-value of "the rank among the k unread is uniform", from (rank, k) pairs."""
    seen = np.zeros(bins)
    expected = np.zeros(bins)
    edges = np.arange(bins + 1)
    for rank, count in ranks:
        seen[rank * bins // count] += 1
        # Rank r goes to bin r * bins // count: count the ranks each bin gets.
        expected += np.diff(-(-edges * count // bins)) / count
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), bins - 1))


def rate_p_value(hits: int, trials: int, chance: float) -> float:
    """Return the p-value of "it happens with exactly this probability"."""
    return float(binomtest(hits, trials, chance).pvalue)
