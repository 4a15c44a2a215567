"""Integers from raw words: uniform, also where a modulus would not be."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from joader.sampling.bits import WORD, Bits, order_of
from joader.sampling.coupling import _place
from tests.sampling.uniformity import ALPHA


class Scripted(Bits):
    """Gives the words a test chose, from the front."""

    def __init__(self, *words: int) -> None:
        super().__init__("test", 0)
        self.script = list(words)

    def word(self) -> int:
        return self.script.pop(0)

    def words(self, count: int) -> np.ndarray:  # type: ignore[type-arg]
        taken, self.script = self.script[:count], self.script[count:]
        return np.array(taken, np.uint64)


def test_equal_seeds_and_purposes_give_equal_words_and_others_do_not() -> None:
    assert [Bits("a", 1).word() for _ in range(2)] == [Bits("a", 1).word() for _ in range(2)]
    words = {Bits(*seed).word() for seed in (("a", 1), ("a", 2), ("b", 1), ("a", 1, 0), ("ab", 1))}
    assert len(words) == 5


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 2**32 - 1, 2**63 + 1, WORD])
def test_below_stays_below(limit: int) -> None:
    bits = Bits("test", 5)
    assert all(0 <= bits.below(limit) < limit for _ in range(200))


def test_below_throws_away_words_that_would_favour_small_results() -> None:
    # 2**64 = 1 mod 3: the last word would be a third 0 too many.
    assert Scripted(WORD - 1, 5).below(3) == 2
    assert Scripted(WORD - 2).below(3) == (WORD - 2) % 3
    # Two thirds of 2**64: every third word is thrown away.
    limit = WORD // 3 * 2
    assert Scripted(limit, limit - 1).below(limit) == limit - 1


def test_many_below_throws_the_same_words_away() -> None:
    assert Scripted(WORD - 1, 4, WORD - 2)._many_below(3, 3).tolist() == [1, (WORD - 2) % 3]
    assert Scripted(WORD - 1, 0)._many_below(4, 2).tolist() == [3, 0]


def test_a_place_by_weights_throws_away_what_would_favour_some() -> None:
    # 2**128 = 1 mod 3: a fraction of 0 has the low part 0 < 1 and is drawn again.
    assert _place([1, 1, 1], 0, Scripted(WORD // 2, 0)) == 1
    assert _place([1, 2, 0, 5], (WORD * WORD) * 3 // 8 + 1, Scripted()) == 3
    assert _place([4, 4], 0, Scripted()) == 0


@pytest.mark.parametrize(("limit", "count"), [(5, 5), (5, 3), (7, 3), (40, 2)])
def test_distinct_integers_come_in_every_order_equally_often(limit: int, count: int) -> None:
    bits = Bits("test", 9)
    runs = 40 * np.prod(np.arange(limit - count + 1, limit + 1))
    seen = Counter(tuple(bits.distinct_below(limit, count).tolist()) for _ in range(int(runs)))
    outcomes = int(runs) // 40
    counts = [*seen.values(), *[0] * (outcomes - len(seen))]
    assert chisquare(counts).pvalue > ALPHA
    assert all(len(set(drawn)) == count for drawn in seen)


def test_a_permutation_with_equal_keys_is_drawn_again() -> None:
    keys = [7, 7, 3, 9, 8, 7]
    assert Scripted(*keys).permutation(3).tolist() == [2, 1, 0]


@pytest.mark.parametrize("bits", [3, 12, 40, 64])
def test_the_order_of_words_is_that_of_a_stable_sort(bits: int) -> None:
    """Few bits make many ties, also of the upper bits that are sorted first."""
    words = Bits("order", bits).words(40_000) >> np.uint64(64 - bits)
    expected = np.argsort(words, kind="stable")
    distinct = np.unique(words).size == words.size
    assert (order_of(words) is None) == (not distinct)
    order = order_of(words, lambda place: place)
    assert order is not None
    assert order.tolist() == expected.tolist()


def test_equal_words_come_in_the_order_of_further_ones() -> None:
    order = order_of(np.array([7, 5, 7, 7], np.uint64), lambda place: -place)
    assert order is not None
    assert order.tolist() == [1, 3, 2, 0]
    assert order_of(np.empty(0, np.uint64)) is not None
