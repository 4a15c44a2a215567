"""The rates of the locality paper's machine follow from what it prints."""

import pytest

from papers.figures.lassen import (
    LEARNERS,
    REGULAR_GAIN,
    THREADS_GAIN,
    imagenet_rates,
)


def test_the_storage_rate_is_what_the_regular_loader_gains_by_threads() -> None:
    rates = imagenet_rates()
    assert rates.preparing == LEARNERS * 800

    def regular_s(preparing: float) -> float:
        return 1 / rates.storage + 1 / (2 * preparing)

    gain = regular_s(rates.preparing / THREADS_GAIN) / regular_s(rates.preparing)
    assert gain == pytest.approx(REGULAR_GAIN)
