"""Lightning's `ddp_spawn` on two processes, with the dataset's class in the script."""

import logging
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import torch
from lightning.pytorch import LightningModule, Trainer
from loaders import run
from torch.utils.data import Dataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Rows(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, row):
        return torch.tensor([float(row)])


class Model(LightningModule):
    def __init__(self, notes):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.notes = notes

    def training_step(self, batch, step):
        with open(f"{self.notes}.{self.global_rank}", "a") as file:
            file.writelines(f"{int(row)}\n" for row in batch[:, 0])
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)


def main(DataLoader):
    notes = f"{tempfile.mkdtemp(dir='.')}/rows"
    loader = DataLoader(Rows(), batch_size=4, shuffle=True, num_workers=1)
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp_spawn",
        max_epochs=1,
        enable_checkpointing=False,
        **quiet,
    ).fit(Model(notes), loader)
    ranks = [Path(f"{notes}.{rank}").read_text().split() for rank in range(2)]
    print("rows of each rank", [len(rows) for rows in ranks])
    print("times each row came", set(Counter(ranks[0] + ranks[1]).values()))


if __name__ == "__main__":
    run(main)
