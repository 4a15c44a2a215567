"""Figures of a loader arrive in Weights & Biases."""

from pathlib import Path

import pytest

from joader.callbacks.wandb import Wandb
from tests.callbacks.loader import NAMES, Loader


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_weights_and_biases_has_them(tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb")
    loader = Loader()
    with wandb.init(mode="offline", dir=tmp_path, settings=wandb.Settings(silent=True)) as run:
        figures = Wandb(loader, run)
        loader.reads(40, 10, 0.0)
        figures.log()
        assert run.summary["joader/saved"] == 0.25
        assert set(NAMES) <= set(run.summary.keys())


def test_figures_are_logged_together_for_a_step_or_the_next() -> None:
    logged: list[tuple[dict[str, float], int | None]] = []

    class Run:
        def log(self, figures: dict[str, float], step: int | None) -> None:
            logged.append((figures, step))

    loader = Loader()
    figures = Wandb(loader, Run())
    loader.reads(40, 10, 0.0)
    figures.log(7)
    figures.log()
    (first, step), (second, later) = logged
    assert (set(first), step, later) == (NAMES, 7, None)
    assert first["joader/saved"] == 0.25
    assert second == dict.fromkeys(NAMES, 0.0)
