"""A training script's loops: two loaders, many loaders, loops that are left early."""

import itertools

import torch
from loaders import rows, run
from torch.utils.data import ConcatDataset, Dataset, TensorDataset, random_split


class Rows(Dataset):
    def __init__(self, first, length):
        self.first, self.length = first, length

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        return self.first + row


def main(DataLoader):
    two = {"batch_size": 4, "num_workers": 2}
    whole = ConcatDataset([Rows(0, 12), Rows(100, 8)])
    train_set, val_set = random_split(whole, [14, 6], torch.Generator().manual_seed(0))
    train, val = DataLoader(train_set, shuffle=True, **two), DataLoader(val_set, **two)
    for _ in range(2):
        print("train", sorted(rows(train)), "validation", rows(val))
    for step, batch in enumerate(train):
        if step == 1:
            print("validation in mid-epoch", rows(val), len(batch))

    for batch in train:
        break
    print("after a break", sorted(rows(train)))
    try:
        for batch in train:
            raise ArithmeticError("loss is nan")
    except ArithmeticError as error:
        print("the body raised", error)
    print("after it", sorted(rows(train)))
    it = iter(train)
    next(it)
    del train
    print("loader deleted, its iterator goes on", sum(len(b) for b in it))
    del it

    many = [DataLoader(Rows(10 * n, 5), batch_size=2, num_workers=1) for n in range(12)]
    open_at_once = [iter(loader) for loader in many[:6]]
    print("open at once", [next(it).tolist() for it in open_at_once])
    del open_at_once
    print("twelve", [rows(loader) for loader in many])
    del many

    pairs = TensorDataset(torch.arange(6.0), torch.arange(6) % 2)
    for inputs, labels in DataLoader(pairs, batch_size=4, num_workers=2):
        inputs += 1  # a batch is the job's own
        print(inputs, labels, inputs.dtype, labels.dtype)
    kept = list(itertools.islice(itertools.cycle(DataLoader(pairs, **two)), 5))
    print("kept", kept)
    print("enumerated", [(i, len(x)) for i, (x, _) in enumerate(DataLoader(pairs, **two))])


if __name__ == "__main__":
    run(main)
