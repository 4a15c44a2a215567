"""The roads an image can take: with and without the libraries that make it fast."""

from typing import Any

import pytest

from joader.images import libraries


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "torch", lambda: None)
    monkeypatch.setattr(libraries, "loaded_torch", lambda: None)


@pytest.fixture
def without_simplejpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "simplejpeg", lambda: None)


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")
