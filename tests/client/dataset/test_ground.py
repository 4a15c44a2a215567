"""What jobs have in common whose datasets overlap."""

from pathlib import Path
from typing import Any

from joader.client.dataset.ground import NO_GROUND, ground_of
from joader.images import Steps
from joader.recipe.parts import SharedPart
from joader.storage import open_storage


def doubled(sample: Any) -> Any:
    return sample * 2


def write(folder: Path) -> None:
    for name in ("a/1.jpg", "a/2.jpg", "b/3.jpg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())


def files(folder: Path, *names: str, steps: tuple[Any, ...] = ()) -> Any:
    return ground_of(SharedPart(open_storage([folder / n for n in names]), Steps(list(steps))))


def test_lists_with_a_folder_in_common_have_its_piece_and_one_ground(tmp_path: Path) -> None:
    write(tmp_path)
    whole = files(tmp_path, "a/1.jpg", "a/2.jpg", "b/3.jpg")
    part = files(tmp_path, "b/3.jpg")
    assert whole.name == part.name != ""
    assert set(part.pieces) <= set(whole.pieces)
    assert sum(rows for _, rows in whole.pieces) == 3


def test_other_steps_are_another_ground_of_the_same_pieces(tmp_path: Path) -> None:
    write(tmp_path)
    plain, other = files(tmp_path, "b/3.jpg"), files(tmp_path, "b/3.jpg", steps=(doubled,))
    assert plain.name != other.name
    assert list(plain.pieces) == list(other.pieces)


def test_a_dataset_of_the_users_shares_as_a_whole() -> None:
    assert ground_of(SharedPart([1, 2, 3], Steps([]))) is NO_GROUND
