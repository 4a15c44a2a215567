"""Pieces that datasets have in common, against a table of what each row holds."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from joader.engine.pieces import Pieces
from joader.errors import BadArgument

SIZES = {"a": 3, "b": 1, "c": 5, "d": 0, "e": 2}


def contents(pieces: list[str]) -> list[tuple[str, int]]:
    """Return what each row of a dataset of these pieces holds."""
    return [(name, row) for name in pieces for row in range(SIZES[name])]


class Machine(RuleBasedStateMachine):
    """Jobs come with pieces, and leave; one row of a recipe never holds two things."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = Pieces()
        self.jobs: list[tuple[str, str, list[str], np.ndarray, np.ndarray]] = []
        self.known: set[str] = set()  # to the engine, which may know a recipe without jobs
        self.gone: set[str] = set()
        self.held: dict[tuple[str, int], tuple[str, int]] = {}  # by recipe and row

    @rule(
        ground=st.sampled_from(["one", "two"]),
        names=st.lists(st.sampled_from(sorted(SIZES)), min_size=1, max_size=6),
        data=st.data(),
    )
    def join(self, ground: str, names: list[str], data: st.DataObject) -> None:
        code = f"{ground}:{''.join(names)}"
        total = len(contents(names))
        rows = np.array(data.draw(st.lists(st.integers(0, max(0, total - 1)))), np.int64)
        rows = rows[rows < total]
        numbered = self.pieces.join(ground, code, [(n, SIZES[n]) for n in names], rows)
        assert numbered.recipe not in self.gone
        assert not rows.size or int(numbered.rows.max()) < numbered.row_limit
        self.known.add(numbered.recipe)
        self.jobs.append((numbered.recipe, code, names, rows, numbered.rows))

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        if self.jobs:
            number = data.draw(st.integers(0, len(self.jobs) - 1))
            recipe, code, *_ = self.jobs.pop(number)
            self.pieces.leave(recipe, code)

    @rule(data=st.data())
    def the_engine_forgets(self, data: st.DataObject) -> None:
        idle = sorted(self.known - {job[0] for job in self.jobs})
        gone = set(data.draw(st.lists(st.sampled_from(idle)))) if idle else set()
        self.known -= gone
        self.gone |= gone
        self.held = {place: what for place, what in self.held.items() if place[0] not in gone}
        self.pieces.forget_all_but(self.known.__contains__)

    @invariant()
    def rows_of_a_recipe_hold_what_they_should(self) -> None:
        named: dict[tuple[str, str, int], int] = {}
        codes = {code: names for _, code, names, _, _ in self.jobs}
        for recipe, code, names, rows, numbers in self.jobs:
            for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
                what = contents(names)[row]
                assert self.held.setdefault((recipe, number), what) == what
                assert named.setdefault((recipe, *what), number) == number  # shared
                found = self.pieces.locate(recipe, number)
                assert found is not None
                assert contents(codes[found[0]])[found[1]] == what
                own = self.pieces.locate(recipe, number, code)
                assert own is not None
                assert own[0] == code
                assert contents(names)[own[1]] == what
        assert len(self.pieces) == len(self.known)
        for ground in ("one", "two"):  # all of a ground fit into one recipe here
            assert len({job[0] for job in self.jobs if job[1].startswith(ground)}) <= 1


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestPieces = Machine.TestCase


def test_a_recipe_that_is_not_made_of_pieces_has_its_own_code() -> None:
    assert Pieces().locate("photos", 7) == ("photos", 7)


def test_a_piece_that_nobody_has_any_more_cannot_be_located() -> None:
    pieces = Pieces()
    rows = np.arange(2)
    first = pieces.join("g", "one", [("a", 2)], rows)
    second = pieces.join("g", "two", [("b", 2)], rows)
    assert first.recipe == second.recipe
    pieces.leave(first.recipe, "one")
    assert pieces.locate(first.recipe, int(first.rows[0])) is None
    assert pieces.locate(first.recipe, int(second.rows[0])) == ("two", 0)


def test_a_piece_keeps_its_rows_while_the_engine_knows_the_recipe_and_no_longer() -> None:
    pieces = Pieces()
    rows = np.arange(2)
    pieces.join("g", "one", [("a", 2)], rows)
    before = pieces.join("g", "two", [("b", 2)], rows)
    pieces.leave(before.recipe, "one")
    pieces.leave(before.recipe, "two")
    pieces.forget_all_but(lambda name: True)
    again = pieces.join("g", "two", [("b", 2)], rows)
    assert (again.recipe, again.rows.tolist()) == (before.recipe, [2, 3])
    pieces.forget_all_but(lambda name: False)  # not those that jobs read
    pieces.leave(again.recipe, "two")
    pieces.forget_all_but(lambda name: False)
    anew = pieces.join("g", "two", [("b", 2)], rows)
    assert anew.recipe != before.recipe
    assert anew.rows.tolist() == [0, 1]


def test_what_does_not_fit_gets_a_recipe_of_its_own() -> None:
    pieces = Pieces()
    rows = np.arange(1)
    small = pieces.join("g", "small", [("a", 10)], rows)
    large = pieces.join("g", "large", [("a", 10), ("rest", 1 << 23)], rows)
    assert large.recipe != small.recipe
    assert large.row_limit >= (1 << 23) + 10
    again = pieces.join("g", "again", [("a", 10), ("b", 1)], rows)
    assert again.recipe in (small.recipe, large.recipe)


def test_rows_beyond_all_pieces_are_refused_and_nothing_is_kept() -> None:
    pieces = Pieces()
    with pytest.raises(BadArgument, match=r"must lie in \[0, 3\)"):
        pieces.join("g", "code", [("a", 3)], np.array([3]))
    assert len(pieces) == 0
