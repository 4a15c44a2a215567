"""`__getitems__`: a dataset that reads a whole batch at once, and one that can do nothing else."""

import torch
from loaders import WORKERS, attempt, batches, run
from torch.utils.data import BatchSampler, Dataset, SequentialSampler, Subset


class Padded(Dataset):
    """Pads to the longest row of the batch, as a tokenizer does."""

    def __len__(self):
        return 7

    def __getitem__(self, row):
        return torch.arange(row + 1)

    def __getitems__(self, rows):
        longest = max(rows) + 1
        padded = [torch.nn.functional.pad(self[row], (0, longest - row - 1)) for row in rows]
        return [{"ids": ids, "together": len(rows)} for ids in padded]


class OnlyTogether:
    def __len__(self):
        return 5

    def __getitems__(self, rows):
        return [sum(rows) + row for row in rows]


def main(DataLoader):
    for workers in WORKERS:
        print(workers)
        print(batches(DataLoader(Padded(), batch_size=3, **workers)))
        print(batches(DataLoader(Padded(), batch_size=3, drop_last=True, **workers)))
        print(batches(DataLoader(Subset(Padded(), [6, 1, 3]), batch_size=2, **workers)))
        pairs = BatchSampler(SequentialSampler(range(7)), 2, drop_last=False)
        print(batches(DataLoader(Padded(), batch_sampler=pairs, **workers)))
        print(batches(DataLoader(OnlyTogether(), batch_size=2, **workers)))
        single = DataLoader(OnlyTogether(), batch_size=None, **workers)
        attempt("one by one", lambda: batches(single))
        whole = DataLoader(Padded(), batch_size=4, collate_fn=len, **workers)
        print(batches(whole))


if __name__ == "__main__":
    run(main)
