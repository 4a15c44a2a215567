"""What was saved of a sampler's generator is checked when it is loaded, not when it is used."""

from collections.abc import Iterator
from typing import Any

import pytest

from joader.client.order.sampler_order import Beginning, ToldOrder, beginning
from joader.errors import BadArgument

torch = pytest.importorskip("torch", reason="its generators are saved")
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


class Eager:
    """Draws all of its pass when iter() is called, as samplers that make buckets do."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(3)

    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(10, generator=self.generator).tolist())


def told(began: Beginning, sampler: Any) -> ToldOrder:
    return ToldOrder(sampler, None, None, False, sampler.generator, 10, began)


def positions(read: Iterator[Any]) -> list[int]:
    return [position for batch in read for position in batch.positions]


@pytest.mark.parametrize("began", list(Beginning))
@pytest.mark.parametrize("now", list(Beginning))
def test_a_pass_goes_on_as_it_began_whatever_workers_there_are_now(
    began: Beginning, now: Beginning
) -> None:
    sampler = Eager()
    saved = told(began, sampler).save()
    whole = positions(told(began, sampler).read())
    again = told(now, Eager())
    again.check({**saved, "count": 4})
    assert positions(again.read({**saved, "count": 4})) == whole[4:]


def test_how_a_pass_begins_changes_what_an_eager_sampler_draws() -> None:
    # The seed alone is drawn after its pass is.
    assert len({tuple(positions(told(began, Eager()).read())) for began in Beginning}) == 2


def test_states_from_before_do_not_say_how_a_pass_began() -> None:
    saved = told(Beginning.SEED, Eager()).save()
    del saved["began"]
    order = told(Beginning.NOTHING, Eager())
    order.check(saved)
    assert positions(order.read(saved)) == positions(told(Beginning.SEED, Eager()).read())
    with pytest.raises(BadArgument, match="began=3"):
        order.check({**saved, "began": 3})


def test_workers_that_stay_need_no_seed_and_no_second_iterator() -> None:
    assert beginning(0, False) is beginning(0, True) is Beginning.SEED
    assert beginning(2, False) is Beginning.SEED_AND_AGAIN
    assert beginning(2, True) is Beginning.NOTHING
