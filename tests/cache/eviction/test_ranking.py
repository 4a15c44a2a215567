"""The ranking against a dict sorted each time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joader.cache.eviction import ranking
from joader.cache.eviction.ranking import Ranking
from joader.errors import OurError

steps = st.tuples(st.integers(0, 15), st.none() | st.integers(-50, 50))


@pytest.mark.parametrize(("block", "slack"), [(1, 0), (2, 3), (32, 64)])
@settings(deadline=None, max_examples=80)
@given(st.lists(steps, max_size=80))
def test_the_order_is_that_of_the_keys(block, slack, operations):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BLOCK", block)
        patch.setattr(ranking, "SLACK", slack)
        ranked, model = Ranking[int](), {}
        for sample, key in operations:
            if key is None:
                if sample in model:
                    ranked.remove(sample)
                    del model[sample]
            else:
                model[sample] = key * 16 + sample
                ranked.put(sample, model[sample])
            expected = sorted(model, key=model.__getitem__)
            assert list(ranked.order()) == expected
            assert len(ranked) == len(model)
            if expected:
                assert ranked.first() == expected[0]


def test_outdated_keys_do_not_pile_up():
    ranked = Ranking[int]()
    for step in range(10_000):
        ranked.put(step % 10, step)
    assert len(ranked._heap) <= 2 * 10 + ranking.SLACK


def test_an_empty_ranking_has_no_first():
    with pytest.raises(OurError):
        Ranking[int]().first()
