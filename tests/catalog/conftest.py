"""A catalog of its own for each test, and a small folder of classes."""

from pathlib import Path

import pytest

CLASSES = ("cat", "dog", "eel")


def write_pictures(folder: Path, count: int = 4, classes: tuple[str, ...] = CLASSES) -> Path:
    """Write files whose content says which they are; sizes differ by class."""
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for at in range(count):
            body = f"{name} {at}".encode() + b"." * number
            (folder / name / f"{at}.jpg").write_bytes(body)
    return folder


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "catalog"
    monkeypatch.setenv("JOADER_CATALOG", str(folder))
    monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return write_pictures(tmp_path / "pictures")
