"""A loader that is pickled and copied, new and after a pass."""

import copy
import pickle

from loaders import attempt, batches, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self):
        self.offset = 0

    def __len__(self):
        return 5

    def __getitem__(self, row):
        return row + self.offset


def main(DataLoader):
    for workers in (2, 0):
        loader = DataLoader(Rows(), batch_size=2, num_workers=workers, drop_last=True)
        for when in ("new", "after a pass"):
            copies = {
                "pickle": pickle.loads(pickle.dumps(loader)),
                "copy": copy.copy(loader),
                "deepcopy": copy.deepcopy(loader),
            }
            for how, other in copies.items():
                same = other.dataset is loader.dataset
                print(workers, when, how, same, len(other), batches(other), batches(loader))
            copies["deepcopy"].dataset.offset = 10
            copies["copy"].dataset.offset = 20
            print("each its own", *(batches(other) for other in copies.values()), batches(loader))
            loader.dataset.offset = 0
        it = iter(loader)
        next(it)
        attempt("an iterator", lambda: pickle.dumps(it) and "was pickled")
        print(batches(copy.deepcopy(loader)), batches(it))


if __name__ == "__main__":
    run(main)
