"""Figures of a loader arrive in TensorBoard, Weights & Biases and Lightning: the real ones."""

from pathlib import Path
from typing import Any

import pytest

from joader.callbacks.scalars import Scalars
from joader.callbacks.tensorboard import TensorBoard
from joader.callbacks.wandb import Wandb
from joader.client.counts import LoaderStats

NAMES = {"joader/samples_per_s", "joader/waiting", "joader/saved"}


class Loader:
    """A loader with figures to choose."""

    def __init__(self) -> None:
        self.now = LoaderStats(delivered=0, prepared=0, hits=0, shared=0, wait_s=0.0, epoch=0)

    def stats(self) -> LoaderStats:
        return self.now

    def reads(self, delivered: int, hits: int, wait_s: float) -> None:
        self.now = LoaderStats(
            delivered=self.now.delivered + delivered,
            prepared=self.now.prepared + delivered - hits,
            hits=self.now.hits + hits,
            shared=0,
            wait_s=self.now.wait_s + wait_s,
            epoch=0,
        )


def test_figures_are_of_what_happened_since_they_were_taken_last() -> None:
    loader = Loader()
    loader.reads(1000, 1000, 50.0)
    scalars = Scalars(loader)
    loader.reads(40, 10, 0.0)
    first = scalars.take()
    assert set(first) == NAMES
    assert first["joader/saved"] == 0.25
    assert first["joader/samples_per_s"] > 0
    assert scalars.take() == dict.fromkeys(NAMES, 0.0)
    loader.reads(1, 0, 1e6)
    assert scalars.take()["joader/waiting"] == 1.0


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


READ = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.loggers import CSVLogger
from joader import DataLoader
from joader.callbacks.lightning import LoaderStatistics

class Rows(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, row): return torch.full((4,), float(row))

class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, number):
        return self.layer(batch).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)

loader = DataLoader(Rows(), batch_size=8, deterministic=True, num_workers=1)
trainer = Trainer(
    max_epochs=2, callbacks=[LoaderStatistics(every_n_steps=4)], logger=CSVLogger(sys.argv[1]),
    enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu", log_every_n_steps=1,
)
trainer.fit(Model(), loader)
"""


@pytest.mark.slow
def test_lightning_logs_them(tmp_path: Path, joader_script: Any) -> None:
    pytest.importorskip("lightning")
    joader_script(READ, str(tmp_path / "logs"))
    (metrics,) = (tmp_path / "logs").rglob("metrics.csv")
    head, *rows = metrics.read_text().splitlines()
    assert set(head.split(",")) >= NAMES
    assert len(rows) == 4  # 16 steps, every fourth
