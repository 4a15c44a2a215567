"""Figures of a loader arrive in the loggers of a Lightning trainer."""

from pathlib import Path
from typing import Any

import pytest

from tests.callbacks.loader import NAMES

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
