"""What follows from rates: where time is lost, and what sharing would give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joader.cli.bench.verdict import Loader, Rates, in_words, together, verdict

rates = st.floats(1, 1e5)


def test_stalls_are_the_differences() -> None:
    found = verdict(Rates(fresh=25.0, cached=40.0, synthetic=100.0, joader=30.0))
    assert found.bottleneck
    assert found.stall == pytest.approx(0.75)
    assert found.preparing == pytest.approx(0.6)
    assert found.reading == pytest.approx(0.15)
    assert found.with_torch == {1: 25.0, 2: 12.5, 4: 6.25}
    assert found.with_joader == {1: 30.0, 2: 30.0, 4: 30.0}


def test_an_epoch_reads_every_loader_once() -> None:
    train = Loader("Train", 900, Rates(fresh=90.0, cached=90.0, synthetic=300.0, joader=180.0))
    test = Loader("Test", 100, Rates(fresh=10.0, cached=20.0, synthetic=100.0, joader=20.0))
    whole = together([train, test])
    assert whole.fresh == pytest.approx(1000 / (10 + 10))
    assert whole.synthetic == pytest.approx(1000 / (3 + 1))
    assert whole.joader == pytest.approx(1000 / (5 + 5))
    lines = in_words(whole, verdict(whole), [train, test])
    assert "An epoch of 1,000 samples takes 20s as it is, 10s with joader, 4s if it never" in (
        "\n".join(lines)
    )


def test_of_a_short_epoch_no_time_is_told() -> None:
    short = Loader("Train", 100, Rates(fresh=90.0))
    assert "epoch" not in "".join(in_words(short.rates, verdict(short.rates), [short]))


def test_what_was_not_measured_of_all_loaders_is_not_said_of_an_epoch() -> None:
    train = Loader("Train", 900, Rates(fresh=90.0, synthetic=300.0))
    test = Loader("Test", 100, Rates(fresh=10.0))
    assert together([train, test]) == Rates(fresh=50.0)
    assert together([train, Loader("Stream", None, Rates(fresh=1.0))]) is train.rates
    assert "epoch" not in "".join(in_words(test.rates, verdict(test.rates), []))


def test_who_does_not_wait_is_told_so() -> None:
    found = verdict(Rates(fresh=98.0, cached=99.0, synthetic=100.0, joader=100.0))
    assert found.bottleneck is False
    assert found.with_torch[4] == 98.0  # how four would do is not known: nothing is promised
    (first, *_) = in_words(Rates(98.0, 99.0, 100.0, 100.0), found)
    assert first.startswith("Data is not the bottleneck")


def test_loaders_that_were_not_measured_are_named_first() -> None:
    measured = Rates(fresh=25.0, synthetic=100.0)
    three = [Loader(name, 100, measured) for name in ("A", "B", "C")]
    (first, *_) = in_words(measured, verdict(measured), three, ["D", "E\x1b[2J"])
    assert first.startswith("Only the first 3 loaders of the script were measured; not: D, E")
    assert "\x1b" not in first


def test_where_joader_does_not_help_it_is_said() -> None:
    tiny = Rates(fresh=90_000.0, cached=90_000.0, synthetic=4e6, joader=1_900.0)
    *_, two, four, last = in_words(tiny, verdict(tiny))
    assert two.endswith("(0.04 ×).")
    assert four.endswith("(0.08 ×).")
    assert last.startswith("joader does not help here")
    dear = Rates(fresh=100.0, cached=100.0, synthetic=1_000.0, joader=90.0)
    assert "does not help" not in "".join(in_words(dear, verdict(dear)))


def test_without_a_training_step_there_is_no_stall() -> None:
    found = verdict(Rates(fresh=50.0, cached=80.0, joader=60.0))
    assert (found.stall, found.bottleneck) == (None, None)
    assert "50 samples/s" in in_words(Rates(50.0, 80.0, None, 60.0), found)[0]


@given(fresh=rates, cached=st.none() | rates, synthetic=st.none() | rates, joader=st.none() | rates)
def test_whatever_was_measured_parts_are_parts_and_nothing_beats_the_step(  # type: ignore[no-untyped-def]
    fresh, cached, synthetic, joader
) -> None:
    measured = Rates(fresh, cached, synthetic, joader)
    found = verdict(measured)
    for part in (found.stall, found.preparing, found.reading):
        assert part is None or 0 <= part <= 1
    if synthetic is not None:
        assert max(found.with_joader.values()) <= synthetic
    if found.preparing is not None and found.reading is not None:
        assert found.preparing <= found.stall + 1e-9
    assert in_words(measured, found)
