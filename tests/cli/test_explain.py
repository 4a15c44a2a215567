"""Why two jobs do not share, in words: the first thing that keeps them apart."""

from typing import Any

import pytest

from joader.cli.explain import why_not

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
    assert "different rows" in why_not(SAME, SAME, same_recipe=True, common=0)
