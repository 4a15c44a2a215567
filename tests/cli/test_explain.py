"""Why two jobs do not share, in words: the first thing that keeps them apart."""

from typing import Any

import pytest

from joader.cli.explain import _of_nodes, _of_order, why_not

SAME: dict[str, Any] = {
    "id": 1,
    "runs": {"interpreter": "/a/python", "folder": "/here", "import path": "/lib"},
    "opaque": "",
    "key": "",
    "private": False,
    "shared": ["Decode()"],
    "columns": ["image"],
    "place": "/data",
    "dataset": "ImageFolder of 9 rows",
    "outline": "",
    "content": "c",
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runs": {**SAME["runs"], "interpreter": "/b/python"}}, "interpreters"),
        ({"runs": {**SAME["runs"], "folder": "/there"}}, "working folders: /here"),
        ({"runs": {**SAME["runs"], "import path": "/lib:/x"}}, "None and /x"),
        ({"opaque": "dataset.f is open"}, "shares nothing: dataset.f is open"),
        ({"key": "mine"}, "no key= and key='mine'"),
        ({"private": True}, "order='seeded'"),
        ({"shared": ["Decode()", "Resize()"]}, "prepare[1] is missing in one and Resize()"),
        ({"columns": ["image", "label"]}, "image in one, image, label in the other"),
        ({"place": "/other"}, "other data: /data and /other"),
        ({"content": "d"}, "/data has changed between the starts"),
    ],
)
def test_the_first_difference_is_named(change: dict[str, Any], words: str) -> None:
    assert words in why_not(SAME, {**SAME, **change}, same_recipe=False, common=None)


def test_jobs_with_random_code_and_a_seed_share_nothing_though_the_recipe_is_one() -> None:
    seeded = {**SAME, "id": 2, "private": True}
    assert "job 2 has order='seeded'" in why_not(SAME, seeded, same_recipe=True, common=9)


def test_jobs_of_one_recipe_share_unless_their_rows_differ() -> None:
    assert why_not(SAME, SAME, same_recipe=True, common=3) == ""
    alone = {**SAME, "reads_itself": True}
    assert why_not(SAME, alone, same_recipe=True, common=3) == ""
    assert "both read their rows themselves" in why_not(alone, alone, same_recipe=True, common=3)
    assert "different rows" in why_not(SAME, SAME, same_recipe=True, common=0)


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (("shared", None), ("shared", None), "one stream; its seed is the daemon's"),
        (("shared", 7), ("shared", 7), "its seed is 7 while all its jobs give that"),
        (("shared", 7), ("shared", None), "the daemon's (job 1 gives 7: not all the same)"),
        (("shared", 0), ("shared", 1), "(job 1 gives 0, job 2 gives 1: not all the same)"),
        (("joint", None), ("joint", 3), "draw jointly"),
        (("shared", None), ("seeded", 3), "job 2 reads in order='seeded': they meet in memory"),
        (("told", None), ("shared", None), "job 1 reads in a sampler's order"),
        (("shared", None), ("joint", None), "meet in memory only"),
        (("given", None), ("given", None), "the order of the dataset"),
    ],
)
def test_how_jobs_meet_is_said(
    one: tuple[str, int | None], other: tuple[str, int | None], words: str
) -> None:
    jobs = [{"id": id, "order": it[0], "seed": it[1]} for id, it in ((1, one), (2, other))]
    assert words in _of_order(*jobs)[0]


def test_a_rank_over_nodes_is_told_whom_locality_concerns() -> None:
    assert "BatchNorm without sync" in _of_nodes({"id": 1, "locality": True})
    assert "uniformly" in _of_nodes({"id": 1, "locality": False})
