"""A loader is measured in each way, over as many passes as the script takes for it."""

from collections.abc import Iterator
from itertools import islice

import pytest

from joader.cli.bench.meter import Meter, Way, ways
from joader.cli.main import main


class Loader:
    """Batches of four rows, so many in a pass."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.begun = 0

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[int]]:
        self.begun += 1
        for number in range(self.batches):
            yield [number] * 4


def meter(loader: Loader, *made: Way) -> Meter:
    return Meter(loader, "Rows", list(made))


def quick(mode: str) -> Way:
    return Way(mode, 0.0, 0.0)


def test_the_warm_up_does_not_count() -> None:
    way = Way("fresh", 1.0, 2.0)
    for _ in range(4):
        way.note([1, 2], 0.6)
    assert (way.warmed, way.batches, way.per_s) == (4, 0, None)
    way.note([1, 2], 0.5)
    way.note([1, 2], 0.25)
    assert (way.samples, way.passed_s, way.done) == (4, 0.75, False)
    way.note([1, 2], 0.25)
    assert way.done
    assert way.per_s == 6.0


def test_a_pass_ends_when_all_ways_are_measured_and_says_how_long_it_is() -> None:
    loader = Loader(1000)
    its = meter(loader, quick("fresh"), quick("synthetic"))
    batches = list(its.passing(iter))
    assert its.done
    assert len(batches) == 12  # each way: three to warm up, three that count
    assert batches[6:] == [batches[5]] * 6
    assert its.rows == 4000
    assert loader.begun == 1


def test_a_short_pass_begins_again() -> None:
    loader = Loader(2)
    its = meter(loader, quick("fresh"))
    assert len(list(its.passing(iter))) == 6
    assert loader.begun == 3
    assert its.rows == 8


def test_a_pass_that_the_script_leaves_is_gone_on_with_in_the_next() -> None:
    its = meter(Loader(1000), quick("fresh"))
    passes = 0
    while not its.done:
        passes += 1
        assert len(list(islice(its.passing(iter), 2))) == 2 or its.done
    assert passes >= 3
    assert its.ways[0].batches == 3


def test_what_gives_nothing_is_not_waited_for() -> None:
    its = meter(Loader(0), quick("fresh"), quick("synthetic"))
    assert list(its.passing(iter)) == []
    assert its.done
    assert [way.per_s for way in its.ways] == [None, None]
    assert its.rows is None


def test_how_long_a_pass_is_follows_from_the_sampler_if_the_loader_makes_its_batches() -> None:
    loader = Loader(3)
    loader.batch_size, loader.sampler = 4, range(10)  # type: ignore[attr-defined]
    its = meter(loader, quick("fresh"))
    list(its.passing(iter))
    assert its.rows == 10  # the last batch has two
    loader.batches = 2  # it drops the last one
    its = meter(loader, quick("fresh"))
    list(its.passing(iter))
    assert its.rows == 8


def test_later_loaders_get_half_the_time_and_one_batch_alone_less() -> None:
    first, later = (ways(["fresh", "synthetic"], 4.0, one) for one in (True, False))
    assert [way.seconds for way in first] == [4.0, 2.0]
    assert [way.seconds for way in later] == [2.0, 1.0]


def test_measuring_takes_as_long_as_the_help_promises(capsys: pytest.CaptureFixture[str]) -> None:
    def takes_s(loaders: int) -> float:
        modes = ["fresh", "cached", "synthetic", "joader"]
        its = [way for n in range(loaders) for way in ways(modes, 4.0, n == 0)]
        return sum(way.warm_s + way.seconds for way in its)

    assert [round(takes_s(loaders), -1) for loaders in (1, 3)] == [20, 40]
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    assert "Measuring takes 20 s for one loader and up to 40 s for three" in help_text
