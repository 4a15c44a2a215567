"""What cannot be shared sample by sample: torch's own loader reads it, and it is said once."""

import logging
from typing import Any

import pytest

from joader import DataLoader
from joader.errors import BadArgument

data = pytest.importorskip("torch.utils.data")
torch = pytest.importorskip("torch")


class Stream(data.IterableDataset):  # type: ignore[misc, name-defined]
    def __iter__(self) -> Any:
        return iter(range(7))


class Together:
    """Gives whole batches, whose values depend on what comes together."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, row: int) -> int:
        return row

    def __getitems__(self, rows: list[int]) -> list[int]:
        return [row * 100 + len(rows) for row in rows]


class ByName:
    """Its keys are words."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, name: str) -> int:
        return {"one": 1, "two": 2}[name]


def of(loader: Any) -> list[Any]:
    return [batch.tolist() if hasattr(batch, "tolist") else batch for batch in loader]


@pytest.mark.parametrize(
    "arguments",
    [
        {"dataset": Stream(), "batch_size": 3},
        {"dataset": Stream(), "batch_size": 3, "drop_last": True},
        {"dataset": Stream(), "batch_size": None},
        {"dataset": Together(), "batch_size": 4},
        {"dataset": Together(), "batch_sampler": [[1, 0], [5]]},
        {"dataset": ByName(), "sampler": ["two", "one"], "batch_size": 2},
    ],
)
def test_batches_are_those_of_torchs_loader(arguments: dict[str, Any]) -> None:
    ours, theirs = DataLoader(**arguments), data.DataLoader(**arguments)
    assert of(ours) == of(theirs)
    assert of(ours) == of(theirs)  # and so they are in the next pass


def test_it_is_said_once_why_it_is_not_shared(caplog: pytest.LogCaptureFixture) -> None:
    loader = DataLoader(Stream(), batch_size=3)
    assert caplog.messages == []
    with caplog.at_level(logging.WARNING, "joader"):
        for _ in range(2):
            list(loader)
    (message,) = caplog.messages
    assert "is not shared with other jobs" in message
    assert "num_workers=0" in message


def test_what_was_read_is_counted() -> None:
    loader = DataLoader(Stream(), batch_size=3)
    list(loader)
    assert loader.stats().delivered == 7
    pairs = DataLoader(Together(), batch_size=4, collate_fn=lambda rows: {"rows": rows})
    list(pairs)
    assert pairs.stats().delivered == 6
    singles = DataLoader(Stream(), batch_size=None)
    list(singles)
    assert singles.stats().delivered == 7


def test_its_length_is_torchs() -> None:
    assert len(DataLoader(Together(), batch_size=4)) == 2
    with pytest.raises(TypeError):
        len(DataLoader(Stream(), batch_size=3))


def test_the_arguments_that_torch_refuses_are_refused_by_torch() -> None:
    with pytest.raises(ValueError, match="shuffle"):
        DataLoader(Stream(), batch_size=3, shuffle=True)


def test_steps_are_done_all_the_same() -> None:
    loader = DataLoader(Stream(), batch_size=3, prepare=[lambda n: n * 2], collate_fn=list)
    assert of(loader) == [[0, 2, 4], [6, 8, 10], [12]]


def test_its_state_begins_anew_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    loader = DataLoader(Stream(), batch_size=3)
    next(iter(loader))
    state = loader.state_dict()
    with caplog.at_level(logging.WARNING, "joader"):
        loader.load_state_dict(state)
    assert "begins anew" in caplog.text
    assert sum(map(len, loader)) == 7


def test_without_torch_it_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from joader.client import torch_api

    monkeypatch.setattr(torch_api, "loaded", lambda: None)
    with pytest.raises(BadArgument, match="only torch's loader can read that"):
        DataLoader(Stream(), batch_size=3)


@pytest.mark.parametrize(
    ("arguments", "batches"),
    [
        ({"dataset": Stream(), "batch_size": None}, [[n] for n in range(7)]),
        ({"dataset": Together(), "batch_sampler": [[1, 0], [5]]}, [[102, 2], [501]]),
    ],
)
def test_steps_are_done_where_torch_makes_no_batches(
    arguments: dict[str, Any], batches: list[Any]
) -> None:
    singly = arguments.get("batch_size", 1) is None
    loader = DataLoader(**arguments, prepare=(lambda row: [row]) if singly else (lambda row: row))
    assert of(loader) == batches


def test_libraries_find_what_they_look_for_in_torchs_iterator() -> None:
    loader = DataLoader(Stream(), batch_size=3, num_workers=1)
    assert len(iter(loader)._workers) == 1  # type: ignore[attr-defined]
    assert loader._iterator is None
    with pytest.raises(AttributeError):
        _ = iter(DataLoader(Stream()))._no_such_name  # type: ignore[attr-defined]
