"""Figures of a loader arrive in TensorBoard."""

from pathlib import Path

import pytest

from joader.callbacks.tensorboard import TensorBoard
from tests.callbacks.loader import NAMES, Loader


@pytest.mark.slow
def test_tensorboard_has_them(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    from torch.utils.tensorboard import SummaryWriter

    loader = Loader()
    with SummaryWriter(str(tmp_path)) as writer:
        figures = TensorBoard(loader, writer)
        loader.reads(40, 10, 0.0)
        figures.log(7)
    read = events.EventAccumulator(str(tmp_path))
    read.Reload()
    assert set(read.Tags()["scalars"]) == NAMES
    (saved,) = read.Scalars("joader/saved")
    assert (saved.step, saved.value) == (7, 0.25)


def test_each_figure_is_a_scalar_of_that_step() -> None:
    written: list[tuple[str, float, int]] = []

    class Writer:
        def add_scalar(self, name: str, value: float, step: int) -> None:
            written.append((name, value, step))

    loader = Loader()
    figures = TensorBoard(loader, Writer())
    loader.reads(40, 10, 0.0)
    figures.log(7)
    assert {name for name, _, _ in written} == NAMES
    assert ("joader/saved", 0.25, 7) in written
