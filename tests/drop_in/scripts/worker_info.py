"""`get_worker_info` and `worker_init_fn`: numbers, dataset, seeds."""

import functools
import os
import time
from pathlib import Path

from loaders import run
from torch.utils.data import Dataset, get_worker_info


class Rows(Dataset):
    def __init__(self):
        self.offset = 0

    def __len__(self):
        return 40

    def __getitem__(self, row):
        time.sleep(0.005)
        info = get_worker_info()
        if info is None:
            return {"row": row + self.offset, "id": -1, "of": -1, "seed": 0, "mine": True}
        mine = info.dataset is self
        return {
            "row": row + self.offset,
            "id": info.id,
            "of": info.num_workers,
            "seed": info.seed % 2**31,
            "mine": mine,
        }


def begin(folder, worker):
    """Open what belongs to a worker, and note that it began."""
    info = get_worker_info()
    info.dataset.offset = 1000
    assert info.id == worker
    with (folder / f"{worker}").open("a") as file:
        file.write(f"{os.getpid()}\n")


def report(loader):
    seen = [{name: batch[name].tolist() for name in batch} for batch in loader]
    column = {name: [v for batch in seen for v in batch[name]] for name in seen[0]}
    print("rows", column["row"] == list(range(column["row"][0], column["row"][0] + 40)))
    print("first row", column["row"][0], "its own dataset", set(column["mine"]))
    print("ids", sorted(set(column["id"])), "of", set(column["of"]))
    print("a seed each", len(set(column["seed"])) == len(set(column["id"])))
    return set(column["seed"])


def main(DataLoader):
    for workers in (2, 1, 0):
        folder = Path(f"{os.environ['SIDE']}-{workers}")
        folder.mkdir()
        rows = Rows()
        init = functools.partial(begin, folder)
        loader = DataLoader(rows, batch_size=4, num_workers=workers, worker_init_fn=init)
        print("workers", workers)
        first, second = report(loader), report(loader)
        print("other seeds in the next epoch", workers == 0 or not first & second)
        print("begun", sorted(path.name for path in folder.iterdir()))
        print("here", rows.offset, get_worker_info())


if __name__ == "__main__":
    run(main)
