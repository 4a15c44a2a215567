"""What torch's workers read for a job without a daemon."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from joader.client.reading.torch_workers import Failed, _Rows
from joader.images import Steps
from joader.recipe.parts import OwnPart, SharedPart


def rows_of(dataset: Any) -> _Rows:
    job: Any = SimpleNamespace(shared=SharedPart(dataset, Steps(())), own=OwnPart(Steps(())))
    return _Rows(job)


@pytest.mark.parametrize("memory", [np.zeros(4), torch.zeros(4)], ids=["array", "tensor"])
def test_a_row_is_apart_from_what_its_dataset_fills_again(memory: Any) -> None:
    """torch sends it later, from another thread, and would share a tensor with the worker."""

    class OneBuffer:
        def __getitem__(self, row: int) -> Any:
            memory[:] = row
            return {"frame": memory[:2]}

    rows = rows_of(OneBuffer())
    first, second = rows[1, 0], rows[2, 0]
    assert first["frame"].tolist() == [1, 1]
    assert second["frame"].tolist() == [2, 2]
    assert type(first["frame"]) is type(memory)


def test_a_row_that_raises_or_cannot_be_sent_says_why() -> None:
    class Bad:
        def __getitem__(self, row: int) -> Any:
            return [][row] if row else lambda: row

    rows = rows_of(Bad())
    raised, unsent = rows[1, 0], rows[0, 0]
    assert isinstance(raised, Failed)
    assert "IndexError" in raised.reason
    assert isinstance(unsent, Failed)
    assert "cannot be handed to another process" in unsent.reason
