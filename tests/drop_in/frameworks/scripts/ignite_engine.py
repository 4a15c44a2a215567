"""Ignite: an engine and a deterministic engine over two epochs."""

import torch
from ignite.engine import DeterministicEngine, Engine, Events
from loaders import run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, row):
        return row


def main(DataLoader):
    for kind in (Engine, DeterministicEngine):
        seen = []
        engine = kind(lambda engine, batch: seen.append(batch.tolist()))
        ends = []
        engine.add_event_handler(Events.EPOCH_COMPLETED, lambda e: ends.append(e.state.iteration))
        torch.manual_seed(0)
        engine.run(DataLoader(Rows(), batch_size=4, num_workers=2), max_epochs=2)
        print(kind.__name__, seen, ends)
        seen.clear()
        loader = DataLoader(Rows(), batch_size=4, num_workers=2)
        engine = kind(lambda engine, batch: seen.append(batch.tolist()))
        engine.run(loader, max_epochs=2, epoch_length=2)
        print("short epochs", seen)


if __name__ == "__main__":
    run(main)
