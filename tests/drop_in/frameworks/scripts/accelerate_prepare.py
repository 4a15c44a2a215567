"""Accelerate makes a loader of its own from the one it is given."""

import torch.utils.data
from accelerate import Accelerator
from loaders import batches, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, row):
        return torch.tensor(float(row))


class Doubled(Rows):
    def __getitem__(self, row):
        return 2 * super().__getitem__(row)


def double(value):
    return 2 * value


def main(DataLoader):
    accelerator = Accelerator(cpu=True)
    for workers in (2, 0):
        loader = accelerator.prepare(DataLoader(Rows(), batch_size=4, num_workers=workers))
        print(workers, len(loader), batches(loader), batches(loader))
        skipped = accelerator.skip_first_batches(loader, 1)
        print("skipped", batches(skipped))
        shuffled = DataLoader(Rows(), batch_size=4, shuffle=True, num_workers=workers)
        prepared = accelerator.prepare(shuffled)
        print("shuffled", sorted(x for _ in range(2) for b in prepared for x in b.tolist()))
    # joader's own steps must not be lost on the way.
    if DataLoader is torch.utils.data.DataLoader:
        stepped = DataLoader(Doubled(), batch_size=4, num_workers=2)
    else:
        stepped = DataLoader(Rows(), batch_size=4, num_workers=2, prepare=[double])
    print("with steps", batches(accelerator.prepare(stepped)))


if __name__ == "__main__":
    run(main)
