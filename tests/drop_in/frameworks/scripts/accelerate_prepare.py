"""Accelerate makes a loader of its own from the one it is given."""

import torch.utils.data
from accelerate import Accelerator
from accelerate.state import GradientState
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


def steps(DataLoader, **more):
    """Return after which batches the optimizer has made a step, in two epochs."""
    GradientState._reset_state()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    model = torch.nn.Linear(1, 1)
    loader = DataLoader(Rows(), batch_size=1, num_workers=0, **more)
    model, loader = accelerator.prepare(model, loader)
    made = []
    for _ in range(2):
        for number, batch in enumerate(loader, 1):
            with accelerator.accumulate(model):
                accelerator.backward(model(batch.reshape(-1, 1)).mean())
                made += [number] * accelerator.sync_gradients
    return made


def main(DataLoader):
    accelerator = Accelerator(cpu=True)
    for workers in (2, 0):
        loader = accelerator.prepare(DataLoader(Rows(), batch_size=4, num_workers=workers))
        print(workers, len(loader), batches(loader), batches(loader))
        skipped = accelerator.skip_first_batches(loader, 1)
        print("skipped", batches(skipped))
        shuffled = DataLoader(Rows(), batch_size=4, shuffle=True, num_workers=workers)
        prepared = accelerator.prepare(shuffled)
        skipped = accelerator.skip_first_batches(prepared, 1)
        print("skipped of a shuffled one", len(skipped), sum(map(len, skipped)))
        print("shuffled", sorted(x for _ in range(2) for b in prepared for x in b.tolist()))
    print("steps", steps(DataLoader), steps(DataLoader, shuffle=True))
    # joader's own steps must not be lost on the way.
    if DataLoader is torch.utils.data.DataLoader:
        stepped = DataLoader(Doubled(), batch_size=4, num_workers=2)
    else:
        stepped = DataLoader(Rows(), batch_size=4, num_workers=2, prepare=[double])
    print("with steps", batches(accelerator.prepare(stepped)))


if __name__ == "__main__":
    run(main)
