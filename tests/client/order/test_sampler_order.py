"""What was saved of a sampler's generator is checked when it is loaded, not when it is used."""

from typing import Any

import pytest

from joader.client.order.sampler_order import ToldOrder
from joader.errors import BadArgument

torch_data = pytest.importorskip("torch.utils.data", reason="its samplers draw from generators")


def order(sampler: Any) -> ToldOrder:
    return ToldOrder(sampler, None, 4, False, None, 10)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text[:-5],
        lambda text: text + text,
        lambda text: "",
    ],
    ids=["cut in half", "cut at the end", "doubled", "lost"],
)
def test_a_generator_whose_text_is_not_whole_is_refused_at_once(damage: Any) -> None:
    told = order(torch_data.RandomSampler(range(10)))
    saved = told.save()
    told.check(saved)
    with pytest.raises(BadArgument, match=r"generator, .* is not what was saved"):
        told.check({**saved, "generator": damage(saved["generator"])})


def test_a_sampler_that_draws_no_numbers_needs_none() -> None:
    told = order(torch_data.SequentialSampler(range(10)))
    assert told.save()["generator"] == ""
    told.check(told.save())
