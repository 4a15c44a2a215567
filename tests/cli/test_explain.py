"""Why two jobs do not share, in words: the first thing that keeps them apart."""

from typing import Any

import pytest

from joader.cli.explain import why_not

SAME: dict[str, Any] = {
    "id": 1,
    "environment": {"interpreter": "/a/python", "folder": "/here", "path": ["/lib"]},
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
        ({"environment": {**SAME["environment"], "interpreter": "/b/python"}}, "interpreters"),
        ({"environment": {**SAME["environment"], "folder": "/there"}}, "working folders: /here"),
        ({"environment": {**SAME["environment"], "path": ["/lib", "/x"]}}, "None and /x"),
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


def test_jobs_of_one_recipe_share_unless_their_rows_differ() -> None:
    assert why_not(SAME, SAME, same_recipe=True, common=3) == ""
    assert "different rows" in why_not(SAME, SAME, same_recipe=True, common=0)
