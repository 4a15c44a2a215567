"""Lightning: fit with validation, predict, limits; which rows each step saw."""

import logging
import warnings

import torch
from lightning.pytorch import LightningDataModule, LightningModule, Trainer
from loaders import run
from torch.utils.data import Dataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Rows(Dataset):
    def __init__(self, first, length):
        self.first, self.length, self.epoch = first, length, 0

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        return torch.tensor([float(self.first + row + 1000 * self.epoch)])


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []

    def training_step(self, batch, step):
        self.seen.append(("train", step, sorted(batch[:, 0].tolist())))
        return self.layer(batch).sum()

    def validation_step(self, batch, step, dataloader_idx=0):
        self.seen.append(("validate", dataloader_idx, step, batch[:, 0].tolist()))

    def predict_step(self, batch, step):
        return batch[:, 0].tolist()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)


def trainer(**more):
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    return Trainer(accelerator="cpu", max_epochs=2, enable_checkpointing=False, **quiet, **more)


def module(DataLoader):
    class Data(LightningDataModule):
        def train_dataloader(self):
            rows = Rows(0, 10)
            rows.epoch = self.trainer.current_epoch
            return DataLoader(rows, batch_size=4, num_workers=2)

        def val_dataloader(self):
            return [
                DataLoader(Rows(100, 5), batch_size=4, num_workers=2),
                DataLoader(Rows(200, 3), batch_size=4, num_workers=0),
            ]

    return Data()


def main(DataLoader):
    train = DataLoader(Rows(0, 10), batch_size=4, num_workers=2)
    val = DataLoader(Rows(100, 5), batch_size=4, num_workers=2)
    model = Model()
    trainer().fit(model, train, val)
    print(*model.seen, sep="\n")
    print("predicted", trainer().predict(model, val))
    model = Model()
    trainer(limit_train_batches=2, limit_val_batches=1).fit(model, train, val)
    print("limited", *model.seen, sep="\n")
    model = Model()
    trainer(reload_dataloaders_every_n_epochs=1).fit(model, datamodule=module(DataLoader))
    print("module", *model.seen, sep="\n")
    shuffled = DataLoader(Rows(0, 10), batch_size=5, shuffle=True, num_workers=2)
    model = Model()
    trainer(num_sanity_val_steps=0).fit(model, shuffled)
    print("shuffled", sorted(row for _, _, batch in model.seen for row in batch))


if __name__ == "__main__":
    run(main)
