"""The worked examples of the JOADER paper's figures 3 and 4, on real sets.

The paper keeps a tree whose vertices are nested intersections; we keep cells. Every vertex is a
union of cells: `tree` builds the tree of the paper's definition 1 out of a sampler's cells, and
each example checks it against the sets the definition gives. D1, D2, D3 have 4, 6 and 8 rows; A =
{1, 2} lies in all three.
"""

from collections.abc import Sequence

import numpy as np

from joader.sampling import DependentSampler
from joader.sampling.rules import paper_rule
from tests.sampling.groups import cells_of

D1 = {1, 2, 11, 12}
D2 = {1, 2, 3, 4, 11, 21}
D3 = {1, 2, 3, 4, 12, 31, 32, 33}


def tree(sampler: DependentSampler, order: Sequence[str]) -> dict[str, set[int]]:
    """Return the vertices by name: "root 1" is the intersection of all, "leaf D1" D1's rest."""
    cells = {who: set(rows.tolist()) for who, rows in cells_of(sampler)}
    vertices: dict[str, set[int]] = {}
    placed: set[int] = set()
    for number in range(len(order)):
        suffix = frozenset(order[number:])
        common = set().union(*(rows for who, rows in cells.items() if who >= suffix)) - placed
        own = set().union(*(rows for who, rows in cells.items() if order[number] in who)) - placed
        if number < len(order) - 1:
            vertices[f"root {number + 1}"] = common
            vertices[f"leaf {order[number]}"] = own - common
        else:
            vertices[f"leaf {order[number]}"] = own
        placed |= common
    return vertices


def sampler_of(**sets: set[int]) -> DependentSampler:
    """Make a sampler in which all have entered their cells and nobody has read anything."""
    sampler = DependentSampler(0, "paper")
    for job, rows in sets.items():
        sampler.add(job, sorted(rows))
        sampler._enter(sampler._jobs[job])
    return sampler


def test_figure_4a_three_datasets() -> None:
    assert tree(sampler_of(D1=D1, D2=D2, D3=D3), ["D1", "D2", "D3"]) == {
        "root 1": {1, 2},  # A
        "leaf D1": {11, 12},  # C
        "root 2": {3, 4},  # B
        "leaf D2": {11, 21},  # E
        "leaf D3": {12, 31, 32, 33},  # F
    }


def test_figure_4b_deleting_a_dataset_merges_its_parent_with_its_sibling() -> None:
    sampler = sampler_of(D1=D1, D2=D2, D3=D3)
    sampler.remove("D2")
    # B and F become one leaf; 12, which D2 did not have, is now common to all that are left.
    assert tree(sampler, ["D1", "D3"]) == {
        "root 1": {1, 2, 12},
        "leaf D1": {11},
        "leaf D3": {3, 4, 31, 32, 33},
    }


def test_figure_4c_inserting_a_smaller_dataset_makes_a_new_root() -> None:
    smaller = {1, 3, 41}
    sampler = sampler_of(D1=D1, D2=D2, D3=D3, D=smaller)
    vertices = tree(sampler, ["D", "D1", "D2", "D3"])
    assert vertices["root 1"] == {1}  # X = D and A
    assert vertices["leaf D"] == {3, 41}
    assert vertices["root 2"] == {2}  # what is left of A
    assert vertices["root 3"] == {3, 4}  # B stays as it was


def test_figure_4d_inserting_a_larger_dataset_goes_down_the_tree() -> None:
    larger = {1, 3, 11, 31, 51, 52, 53}  # between D2 and D3
    sampler = sampler_of(D1=D1, D2=D2, D3=D3, D=larger)
    assert tree(sampler, ["D1", "D2", "D", "D3"]) == {
        "root 1": {1},  # X = D and A
        "leaf D1": {2, 11, 12},  # the rest of A went to the children
        "root 2": {3},
        "leaf D2": {2, 4, 11, 21},
        "root 3": {31},
        "leaf D": {11, 51, 52, 53},
        "leaf D3": {2, 4, 12, 32, 33},
    }


class _Words:
    """Answers `below` from a list, so that a test can choose every branch."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.limits: list[int] = []

    def below(self, limit: int) -> int:
        self.limits.append(limit)
        return self.answers.pop(0)


def play(*answers: int) -> tuple[list[tuple[set[int], set[str]]], list[int]]:
    sampler = sampler_of(D1=D1, D2=D2, D3=D3)
    names = {1: "D1", 2: "D2", 4: "D3"}
    cells = sampler._groups[0].cells
    words = _Words(*answers)
    picks = paper_rule(cells, [(8, 4), (4, 1), (6, 2)], words)  # type: ignore[arg-type]
    assert not words.answers
    return [
        (
            set(np.frombuffer(cell.rows, np.uint32).tolist()),
            {n for b, n in names.items() if takers & b},
        )
        for cell, takers in picks
    ], words.limits


def test_figure_3_case_1_all_jobs_select_the_intersection() -> None:
    # D1 takes it with 2/4, D2 with 4/6, D3 with 6/8; then one row of A for all.
    picks, limits = play(1, 3, 5, 0)
    assert picks == [({1, 2}, {"D1", "D2", "D3"})]
    assert limits == [4, 6, 8, 2]


def test_figure_3_case_2_after_the_first_that_refuses_all_refuse() -> None:
    # D1 takes A, D2 does not, so D3 is not asked; the two go on with B without A: 2/4, then 4/6.
    picks, limits = play(1, 4, 0, 1, 3, 0)
    assert picks == [({1, 2}, {"D1"}), ({3, 4}, {"D2", "D3"})]
    assert limits == [4, 6, 2, 4, 6, 2]


def test_figure_3_case_3_all_jobs_select_differences() -> None:
    # D1 refuses A and draws from what it has besides; D2 refuses B and draws alone; D3 takes what
    # is left.
    picks, limits = play(2, 0, 2, 0, 0, 3)
    assert picks[0][1] == {"D1"}
    assert picks[0][0] < {11, 12}
    assert picks[1] in [({11}, {"D2"}), ({21}, {"D2"})]
    assert picks[2][1] == {"D3"}
    assert limits == [4, 2, 4, 2, 4, 4]
