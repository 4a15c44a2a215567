"""Switches of libraries count for every dataset, but only if they were changed."""

import random
import sys
import types
from typing import Any

import numpy as np
import pytest

from joader.recipe.fingerprint import difference, fingerprint, outline
from joader.recipe.fingerprint.switches import changed_switches

THINGS = [{"size": 1}, [1, 2], {1, "a"}, 5, types.SimpleNamespace(a=1)]


def names() -> list[str]:
    return [fingerprint(thing) for thing in THINGS]


def check(change: Any, restore: Any, words: str) -> None:
    """Check that a switch counts for everything while it is changed, and how it is told."""
    before, outlines = names(), [outline(thing) for thing in THINGS]
    change()
    try:
        assert not set(names()) & set(before)
        assert names() == names()
        assert words in str(difference(outlines[0], outline(THINGS[0])))
    finally:
        restore()
    assert names() == before


def test_torch_default_dtype_and_device_count():
    torch = pytest.importorskip("torch")
    dtype, device = torch.set_default_dtype, torch.set_default_device
    check(lambda: dtype(torch.float64), lambda: dtype(torch.float32), "torch default dtype")
    check(lambda: device("meta"), lambda: device(None), "torch default device")


def test_what_pil_accepts_counts(monkeypatch):
    image, file = pytest.importorskip("PIL.Image"), pytest.importorskip("PIL.ImageFile")
    for module, name, value in (
        (file, "LOAD_TRUNCATED_IMAGES", True),
        (image, "MAX_IMAGE_PIXELS", None),
    ):
        check(
            lambda m=module, n=name, v=value: monkeypatch.setattr(m, n, v), monkeypatch.undo, name
        )


def test_two_values_of_a_switch_are_two_names(monkeypatch):
    image = pytest.importorskip("PIL.Image")
    found = set()
    for value in (None, 1, 2):
        monkeypatch.setattr(image, "MAX_IMAGE_PIXELS", value)
        found.add(fingerprint(THINGS[0]))
    assert len(found) == 3


def test_a_library_that_lacks_a_switch_or_is_not_loaded_has_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", types.ModuleType("torchvision"))
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    assert changed_switches() == []
    vision = sys.modules["torchvision"]
    vision.get_image_backend = lambda: "accimage"
    assert changed_switches() == [("torchvision image backend", "'accimage'")]


def test_seeds_do_not_count():
    before = names()
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(5)
    assert names() == before
