"""IterableDataset: plain, with a length, and shared out over workers by get_worker_info."""

import torch
from loaders import attempt, batches, run
from torch.utils.data import IterableDataset, get_worker_info


class Plain(IterableDataset):
    def __iter__(self):
        return iter(range(7))


class Sized(Plain):
    def __len__(self):
        return 7


class Shared(IterableDataset):
    def __init__(self, length):
        self.length = length
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        info = get_worker_info()
        part = slice(None) if info is None else slice(info.id, None, info.num_workers)
        for number in range(self.length)[part]:
            yield {"number": number, "tensor": torch.full((2,), number)}


class Failing(IterableDataset):
    def __iter__(self):
        yield 0
        raise KeyError("gone")


def main(DataLoader):
    for number in (0, 1, 2):
        workers = {"num_workers": number}
        print(workers)
        for epoch in range(2):
            print("plain", epoch, batches(DataLoader(Plain(), batch_size=3, **workers)))
        sized = DataLoader(Sized(), batch_size=2, num_workers=min(number, 1))
        print("sized", len(sized), batches(sized))
        shared = Shared(9)
        loader = DataLoader(shared, batch_size=2, **workers)
        print("shared out", batches(loader), batches(loader), shared.passes)
        print("dropped", batches(DataLoader(Shared(9), batch_size=2, drop_last=True, **workers)))
        print("single", batches(DataLoader(Plain(), batch_size=None, **workers)))
        attempt("fails", lambda: batches(DataLoader(Failing(), batch_size=1, **workers)))
        attempt("shuffled", lambda: DataLoader(Plain(), shuffle=True, **workers))
        attempt("no length", lambda: len(DataLoader(Plain(), **workers)))


if __name__ == "__main__":
    run(main)
