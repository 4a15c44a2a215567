"""Figures and names as people read them."""

import pytest

from joader.cli.words import counted, duration, flow_words, part, printable, rate, size
from joader.statistics import FlowStatistics


def test_things_are_counted_in_the_singular_and_the_plural() -> None:
    assert [counted(n, "row") for n in (0, 1, 1234)] == ["0 rows", "1 row", "1,234 rows"]


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (3 << 29, "1.5 GiB")],
)
def test_bytes_are_said_in_the_largest_unit_below_them(count: int, words: str) -> None:
    assert size(count) == words


def test_there_is_no_unit_above_the_largest() -> None:
    assert size(5 << 50) == "5120.0 TiB"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0s"), (59.6, "1:00"), (185, "3:05"), (7830, "2h10m"), (273600, "3d4h")],
)
def test_times_have_their_two_largest_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_rates_and_parts_are_short() -> None:
    assert [rate(one) for one in (0.0, 0.25, 9.94, 10.4, 12345.6)] == [
        *("0", "0.2", "9.9", "10", "12,346")
    ]
    assert [part(one) for one in (None, 0.0, 0.126, 1.0)] == ["-", "0%", "13%", "100%"]


def test_names_cannot_control_a_terminal() -> None:
    assert printable("a\x1b[31m\nb é") == "a\ufffd[31m\ufffdb é"


def test_samples_are_named_in_the_order_of_their_way() -> None:
    flow = FlowStatistics(to_come=1000, planned=40, preparing=3, ready=2, held=1)
    assert flow_words(flow) == [
        *("1,000 to come", "40 planned", "3 preparing", "2 ready", "1 in use")
    ]
