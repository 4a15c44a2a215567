"""Class folders: rows and labels as torchvision has them."""

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from joader.errors import NoData
from joader.storage import ImageFolder, Values
from tests.storage.contract import ROWS, StorageContract, body
from tests.storage.test_files import write


class TestImageFolder(StorageContract):
    names: ClassVar = [
        *(f"ant/{row:03}.jpg" for row in range(15)),
        *(f"bee/x/{row}.PNG" for row in range(10, 25)),
        *(f"bee/y/{row}.jpeg" for row in range(10, 20)),
    ]

    def write(self, folder: Path) -> Any:
        write(folder, self.names)
        (folder / "ant" / "notes.txt").write_text("no image")
        (folder / "README").write_text("no class")
        return str(folder)

    def change(self, folder: Path) -> Any:
        os.utime(folder / self.names[7], ns=(1, 1))
        return str(folder)

    def expected(self) -> dict[str, Values]:
        labels = np.array([0] * 15 + [1] * 25)
        return {"image": list(map(body, range(ROWS))), "label": labels, "path": self.names}

    def sample_columns(self) -> list[str]:
        return ["image", "label"]

    def refused(self, folder: Path) -> list[Any]:
        (folder / "empty").mkdir()
        (folder / "classes" / "empty").mkdir(parents=True)
        return [str(folder / "empty"), str(folder / "classes")]


def torchvision_order(root: str) -> list[tuple[str, int]]:
    """Return what torchvision.datasets.folder.make_dataset returns, in its own words."""
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    found = []
    for number, name in enumerate(classes):
        for place, _, names in sorted(os.walk(os.path.join(root, name), followlinks=True)):
            images = [file for file in sorted(names) if file.lower().endswith((".jpg", ".png"))]
            found += [(os.path.relpath(f"{place}/{file}", root), number) for file in images]
    return found


def test_rows_and_labels_are_those_of_torchvision(tmp_path: Path) -> None:
    names = ["a-b/1.jpg", "a/10.jpg", "a/9.jpg", "a/z/1.png", "a/B/1.png", "a/b.jpg", "Z/1.JPG"]
    write(tmp_path, names)
    storage = ImageFolder(str(tmp_path))
    columns = storage.read(range(len(names)), ["path", "label"])
    paths, labels = columns["path"], columns["label"]
    assert list(zip(paths, labels, strict=True)) == torchvision_order(str(tmp_path))
    assert storage.classes == ("Z", "a", "a-b")


def test_a_class_without_images_is_named(tmp_path: Path) -> None:
    write(tmp_path, ["a/1.jpg"])
    (tmp_path / "b").mkdir()
    with pytest.raises(NoData, match=r"1 of 2 classes .* have no images: b; put images"):
        ImageFolder(str(tmp_path))
