"""Arguments that torch refuses, and with which error; some that it takes by position."""

import torch
from loaders import attempt, batches, run
from torch.utils.data import Dataset, SequentialSampler


class Rows(Dataset):
    def __init__(self, length=4):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        return row


REFUSED = (
    {"batch_size": 0},
    {"batch_size": -1},
    {"num_workers": -1},
    {"timeout": -1},
    {"batch_size": None, "drop_last": True},
    {"shuffle": True, "sampler": SequentialSampler(Rows())},
    {"batch_size": 2, "batch_sampler": [[0]]},
    {"shuffle": True, "batch_sampler": [[0]]},
    {"drop_last": True, "batch_sampler": [[0]]},
    {"prefetch_factor": 2},
    {"prefetch_factor": -1, "num_workers": 1},
    {"persistent_workers": True},
    {"multiprocessing_context": "bogus", "num_workers": 1},
    {"multiprocessing_context": "fork"},
    {"no_such_argument": 1},
    {"sampler": [0, 9]},
    {"num_workers": 1, "sampler": [9]},
    {"batch_sampler": [0, 1]},
)


def main(DataLoader):
    for arguments in REFUSED:
        names = {k: v if isinstance(v, int | str | list) else "…" for k, v in arguments.items()}
        attempt(str(names), lambda: batches(DataLoader(Rows(), **arguments)))
    attempt("no rows", lambda: batches(DataLoader(Rows(0), batch_size=2)))
    attempt("no rows, two workers", lambda: batches(DataLoader(Rows(0), num_workers=2)))
    attempt("no rows, shuffled", lambda: batches(DataLoader(Rows(0), shuffle=True)))
    attempt("a list", lambda: batches(DataLoader([3, 4, 5], batch_size=2, num_workers=1)))
    attempt("a range", lambda: batches(DataLoader(range(4), 3, False)))
    attempt("a tensor", lambda: batches(DataLoader(torch.arange(4.0), 3, False, None, None, 1)))
    attempt("nothing", lambda: batches(DataLoader(None)))
    attempt("an integer", lambda: batches(DataLoader(5, num_workers=1)))


if __name__ == "__main__":
    run(main)
