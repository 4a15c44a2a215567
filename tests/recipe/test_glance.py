"""What a training loop changes in a dataset is seen, as far as that can be seen quickly."""

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Subset, TensorDataset

from joader.recipe.glance import MOST_ELEMENTS, MOST_ROWS, MOST_VALUES, Glance
from joader.storage import Storage

ROWS = 1000
SCALE = 1
SETTINGS = {"strength": 1}
module = ModuleType("settings_of_the_users")
module.strength = 1  # type: ignore[attr-defined]


class Slotted:
    __slots__ = ("name", "value")

    def __init__(self) -> None:
        self.value = 1


class Rows:
    shift = 0

    def __init__(self) -> None:
        self.step, self.share, self.name = 1, 0.5, "a"
        self.labels = torch.zeros(ROWS)
        self.targets = np.zeros(ROWS, np.int64)
        self.weights = np.ones(3)
        self.samples = [(f"{row}.jpg", row) for row in range(ROWS)]
        self.few = ["a", "b"]
        self.table = {"a": SimpleNamespace(strength=1)}
        self.transform = SimpleNamespace(steps=[SimpleNamespace(p=0.5), Slotted()])
        self.seen: set[int] = set()

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, row: int) -> Any:
        return SCALE, SETTINGS, module.strength


CHANGES: dict[str, Callable[[Rows], Any]] = {
    "dataset.step": lambda rows: setattr(rows, "step", 2),
    "dataset.share": lambda rows: setattr(rows, "share", float("nan")),
    "dataset.name": lambda rows: setattr(rows, "name", "b"),
    "dataset.labels": lambda rows: rows.labels.add_(1),
    "dataset.weights": lambda rows: rows.weights.fill(2),
    "dataset.few": lambda rows: rows.few.__setitem__(1, "c"),
    "dataset.seen": lambda rows: rows.seen.add(1),
    "dataset.samples": lambda rows: rows.samples.append(("new.jpg", ROWS)),
    "dataset.table.strength": lambda rows: setattr(rows.table["a"], "strength", 2),
    "dataset.transform.steps.p": lambda rows: setattr(rows.transform.steps[0], "p", 0.6),
    "dataset.transform.steps.value": lambda rows: setattr(rows.transform.steps[1], "value", 2),
    "dataset.transform": lambda rows: setattr(rows, "transform", SimpleNamespace(steps=[])),
    "dataset": lambda rows: setattr(rows, "more", 1),
    "dataset.Rows.shift": lambda rows: setattr(Rows, "shift", 1),
    f"{__name__}.SCALE": lambda rows: setattr(sys.modules[__name__], "SCALE", 2),
    f"{__name__}.SETTINGS": lambda rows: SETTINGS.update(strength=2),
    "module.strength": lambda rows: setattr(module, "strength", 2),
}


@pytest.fixture(autouse=True)
def _changes_are_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rows, "shift", 0)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 1)
    monkeypatch.setitem(SETTINGS, "strength", 1)
    monkeypatch.setattr(module, "strength", 1)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen_and_named_also_through_a_subset(name: str) -> None:
    rows = Rows()
    glances = [Glance(rows, ROWS), Glance(Subset(rows, range(5)), ROWS)]
    assert [glance.change() for glance in glances] == ["", ""]
    CHANGES[name](rows)
    direct, through = (glance.change() for glance in glances)
    assert direct == name
    assert through == name.replace("dataset", "dataset.dataset", name.startswith("dataset"))


def test_what_is_equal_to_what_it_was_is_no_change() -> None:
    rows = Rows()
    glance = Glance(rows, ROWS)
    rows.share, rows.name = float("0.5"), "".join(["a"])
    rows.few[0] = "".join(["a"])
    for _ in range(2):
        assert glance.change() == ""
    rows.share = 1
    assert glance.change() == "dataset.share"


def test_elements_are_seen_by_the_rows_of_a_batch() -> None:
    rows, plain = Rows(), [float(row) for row in range(ROWS)]
    glance, of_list = Glance(rows, ROWS), Glance(plain, ROWS)
    rows.samples[7], rows.targets[8], plain[9] = ("other.jpg", 7), 1, -1.0
    assert glance.change() == of_list.change() == ""
    assert glance.change_of(np.array([1, 2])) == ""
    assert glance.change_of(np.array([7, 2])) == "dataset.samples[7]"
    assert glance.change_of(np.array([2, 8])) == "dataset.targets"
    assert of_list.change_of(np.array([9])) == "dataset[9]"


def test_tensors_of_torchs_own_datasets_are_seen() -> None:
    tensors = TensorDataset(torch.zeros(9), torch.zeros(9))
    glance = Glance(tensors)
    tensors.tensors[1][3:5] = 1
    assert glance.change() == "dataset.tensors"


def test_the_work_is_bounded() -> None:
    many = SimpleNamespace(parts=[SimpleNamespace(a=1, b=2) for _ in range(MOST_ELEMENTS)])
    many.more = [SimpleNamespace(parts=list(many.parts)) for _ in range(MOST_ELEMENTS)]
    many.large = list(range(MOST_ROWS + 1))
    many.array = np.zeros(1 << 22, np.uint8)
    glance = Glance(many, MOST_ROWS + 1)
    assert sum(len(place.held) for place in glance._places) <= MOST_VALUES
    assert not glance.looks_at_rows
    many.large.append(1)
    assert glance.change() == "dataset.large"


class Odd:
    """An object that does not want to be asked."""

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("not now")

    def __len__(self) -> int:
        raise RuntimeError("not now")


class Stored(Storage):
    def __init__(self) -> None:
        self.opened = 0

    def fetch(self, rows: Any, columns: Any) -> list[Any]:
        return []

    def identity(self) -> tuple[Any, ...]:
        return ()


def test_what_cannot_be_asked_or_is_ours_is_left_out() -> None:
    with torch.inference_mode():
        tensor = torch.zeros(3)
    ring: list[Any] = [Odd(), tensor, Stored(), np.zeros(()), Slotted, print, lambda: 0]
    ring.append(ring)
    glance = Glance(ring)
    ring[2].opened = 1
    assert glance.change() == ""
    ring[0] = Odd()
    assert glance.change() == "dataset"


def test_what_cannot_be_asked_any_more_has_changed() -> None:
    class Ending(dict[str, int]):
        ended = False

        def values(self) -> Any:
            if self.ended:
                raise RuntimeError("dictionary changed size during iteration")
            return super().values()

    rows = Ending(a=1)
    glance = Glance(rows)
    assert glance.change() == ""
    Ending.ended = True
    assert glance.change() == "dataset"
