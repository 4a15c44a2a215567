"""`torch.manual_seed`: orders drawn from the global generator, and what is drawn after a pass."""

import torch
from loaders import rows, run
from torch.utils.data import RandomSampler, WeightedRandomSampler


def main(DataLoader):
    for workers in (2, 0):
        torch.manual_seed(0)
        sampler = RandomSampler(range(9))
        print("random", rows(DataLoader(range(9), 4, sampler=sampler, num_workers=workers)))
        weighted = WeightedRandomSampler([1.0, 2.0, 3.0], 6)
        print("weighted", rows(DataLoader(range(3), 4, sampler=weighted, num_workers=workers)))
        print("drawn after that", torch.randint(1000, (3,)).tolist())
        # joader draws this order itself, but what is drawn next must not depend on that.
        print("shuffled", sorted(rows(DataLoader(range(9), 4, shuffle=True, num_workers=workers))))
        print("drawn after that", torch.randint(1000, (3,)).tolist())


if __name__ == "__main__":
    run(main)
