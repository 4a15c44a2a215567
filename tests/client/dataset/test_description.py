"""What a job tells of itself."""

import json
from typing import Any

from joader.client.dataset.description import About
from joader.images import Steps
from joader.recipe.fingerprint import outline
from joader.recipe.parts import OwnPart, SharedPart
from joader.storage import open_storage


def doubled(sample: Any) -> Any:
    return sample * 2


def told(dataset: Any, prepare: Steps, **changed: Any) -> dict[str, Any]:
    shared = SharedPart(dataset, prepare)
    usual: dict[str, Any] = {"outline": outline(shared), "key": "", "rows": 1234, "table": ""}
    usual |= {"deterministic": True, "private": False, **changed}
    about = About(shared=shared, own=OwnPart(Steps([])), **usual)
    found = json.loads(about.to_bytes())
    assert isinstance(found, dict)
    return found


def test_a_dataset_is_told_by_its_class_and_size_or_its_table() -> None:
    assert told([1, 2], Steps([]))["dataset"] == "list of 1,234 rows"
    assert told([1, 2], Steps([]), table="pets@3")["dataset"] == "table pets@3"


def test_steps_are_told_by_their_names() -> None:
    assert told([1], Steps([doubled]))["shared"] == ["doubled"]
    assert told([1], Steps([]))["shared"] == []


def test_the_content_is_the_same_whatever_steps_follow_and_not_told_under_a_key() -> None:
    one, other = told([1], Steps([doubled])), told([1], Steps([doubled, doubled]))
    assert one["content"] == other["content"] != told([2], Steps([doubled]))["content"]
    assert told([1], Steps([]), outline=[], key="mine")["content"] == ""


def test_samples_of_a_seed_are_a_jobs_own() -> None:
    assert not told([1], Steps([]))["private"]
    assert told([1], Steps([]), seeded=True)["private"]


def test_a_storage_is_told_with_its_columns(tmp_path: Any) -> None:
    (tmp_path / "a.jpg").write_bytes(b"a")
    found = told(open_storage([tmp_path / "a.jpg"], labels=[3]), Steps([]))
    assert found["columns"] == ["image", "label"]
    assert str(tmp_path) in found["place"]
