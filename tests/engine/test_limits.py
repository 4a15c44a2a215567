"""Limits that cannot be meant are refused."""

import pytest

from joader.engine.limits import ON_DEMAND, Limits
from joader.errors import BadArgument


def test_nothing_may_be_guaranteed_but_not_less() -> None:
    assert ON_DEMAND.share_batches == 0
    with pytest.raises(BadArgument, match="share_batches is at least 0"):
        Limits(share_batches=-1)


@pytest.mark.parametrize("name", ["least_ahead", "horizon_s", "ahead_part", "pace_s"])
def test_all_others_are_above_nothing(name: str) -> None:
    with pytest.raises(BadArgument, match=f"{name}=0"):
        Limits(**{name: 0})  # type: ignore[arg-type]
