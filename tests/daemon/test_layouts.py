"""Layouts by number: told once, kept while a sample has them, and bounded for each client."""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from joader.daemon import layouts
from joader.daemon.layouts import Layouts


def test_samples_of_one_shape_have_one_number() -> None:
    kept = Layouts()
    kept.note([1, 2], [b"square", b"square"])
    kept.note([3], [b"square"])
    kept.note([4], [b"round"])
    numbers, new, forget = kept.told([1, 2, 3, 4], set())
    assert len(set(numbers[:3])) == 1
    assert numbers[3] != numbers[0]
    assert sorted(new.values()) == [b"round", b"square"]
    assert not forget
    assert len(kept) == 2


def test_a_client_is_told_each_once() -> None:
    kept = Layouts()
    kept.note([1], [b"square"])
    known: set[int] = set()
    _, first, _ = kept.told([1], known)
    _, second, _ = kept.told([1], known)
    assert list(first.values()) == [b"square"]
    assert second == {}
    assert kept.told([1], set())[1] == first  # another is told, too


def test_a_layout_goes_with_its_last_sample_and_its_number_means_nothing_else() -> None:
    kept = Layouts()
    kept.note([1, 2], [b"square", b"square"])
    (number,) = set(kept.told([1, 2], set())[0])
    kept.forget([1])
    assert kept.of(2) == b"square"
    kept.forget([2, 77])
    assert len(kept) == 0
    assert kept.of(2) == b""
    kept.note([3], [b"round"])
    kept.note([4], [b"square"])
    assert number not in kept.told([3, 4], set())[0]


def test_a_sample_that_is_prepared_anew_may_lie_otherwise() -> None:
    kept = Layouts()
    kept.note([1], [b"square"])
    kept.note([1], [b"round"])
    assert kept.of(1) == b"round"
    assert len(kept) == 1
    kept.note([1], [b"round"])
    assert kept.of(1) == b"round"
    assert len(kept) == 1


def test_ragged_samples_leave_nothing_behind() -> None:
    kept = Layouts()
    for sample in range(10_000):
        kept.note([sample], [b"%d" % sample])
        kept.forget([sample - 10])
    assert len(kept) == 10


def test_a_client_is_told_to_forget_before_it_knows_too_many() -> None:
    kept = Layouts()
    kept.note([0], [b"usual"])
    known: set[int] = set()
    told: dict[int, bytes] = {}  # what the client remembers
    forgotten = 0
    for sample in range(1, 3 * layouts.MOST_KNOWN):
        kept.note([sample], [b"%d" % sample])
        numbers, new, forget = kept.told([0, sample], known)
        if forget:
            forgotten += 1
            told.clear()
        told |= new
        assert [told[number] for number in numbers] == [b"usual", b"%d" % sample]
        assert len(told) <= layouts.MOST_KNOWN
        kept.forget([sample])
    assert forgotten == 3


def test_a_batch_with_more_layouts_than_that_is_told_all_the_same() -> None:
    kept = Layouts()
    samples = list(range(layouts.MOST_KNOWN + 5))
    for sample in samples:
        kept.note([sample], [b"%d" % sample])
    numbers, new, forget = kept.told(samples, set())
    assert not forget  # there is nothing to forget
    assert len(new) == len(samples)
    assert len(numbers) == len(samples)


class Machine(RuleBasedStateMachine):
    """Samples come and go; two clients are told of some. A plain dict is the model."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = Layouts()
        self.model: dict[int, bytes] = {}
        self.known: list[set[int]] = [set(), set()]
        self.remembered: list[dict[int, bytes]] = [{}, {}]

    @rule(
        samples=st.lists(st.integers(0, 8), min_size=1, max_size=4),
        layout=st.sampled_from([b"a", b"b", b"c"]),
    )
    def note(self, samples: list[int], layout: bytes) -> None:
        self.kept.note(samples, [layout] * len(samples))
        self.model |= dict.fromkeys(samples, layout)

    @rule(samples=st.lists(st.integers(0, 8), max_size=4))
    def forget(self, samples: list[int]) -> None:
        self.kept.forget(samples)
        for sample in samples:
            self.model.pop(sample, None)

    @rule(client=st.integers(0, 1))
    def tell(self, client: int) -> None:
        samples = list(self.model)
        numbers, new, forget = self.kept.told(samples, self.known[client])
        if forget:
            self.remembered[client].clear()
        self.remembered[client] |= new
        told = [self.remembered[client][number] for number in numbers]
        assert told == [self.model[sample] for sample in samples]

    @invariant()
    def only_what_is_in_use_is_kept(self) -> None:
        assert len(self.kept) == len(set(self.model.values()))
        assert all(self.kept.of(sample) == layout for sample, layout in self.model.items())


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestLayouts = Machine.TestCase
