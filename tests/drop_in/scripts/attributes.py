"""What frameworks read from a loader and set on it."""

import torch.utils.data
from loaders import attempt, run
from torch.utils.data import Dataset, default_collate

NAMES = (
    *("batch_size", "num_workers", "pin_memory", "drop_last", "prefetch_factor"),
    *("persistent_workers", "worker_init_fn", "generator", "multiprocessing_context", "in_order"),
)


class Rows(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, row):
        return row


def main(DataLoader):
    for arguments in (
        {},
        {"batch_size": 2, "num_workers": 2, "drop_last": True, "shuffle": True},
        {"num_workers": 2, "prefetch_factor": 4, "persistent_workers": True, "timeout": 30},
        {"batch_size": None},
        {"batch_sampler": [[0, 1], [2]]},
    ):
        loader = DataLoader(Rows(), **arguments)
        print(arguments, isinstance(loader, torch.utils.data.DataLoader))
        print({name: getattr(loader, name) for name in NAMES}, float(loader.timeout))
        print(type(loader.sampler).__name__, type(loader.batch_sampler).__name__, len(loader))
        print(loader.collate_fn is default_collate, type(loader.dataset).__name__)
        for name in ("batch_size", "sampler", "drop_last", "dataset"):
            attempt(f"set {name}", lambda: setattr(loader, name, getattr(loader, name)))
        loader.my_own = 3
        print(loader.my_own, type(iter(loader)).__name__ != "generator", len(iter(loader)))


if __name__ == "__main__":
    run(main)
