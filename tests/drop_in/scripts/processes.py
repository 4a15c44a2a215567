"""Jobs that are processes of multiprocessing, with the dataset's class in the script."""

import multiprocessing as mp
import traceback
from concurrent.futures import ProcessPoolExecutor

import torch
from loaders import WORKERS, attempt, batches, kind, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self, offset=0):
        self.offset = offset

    def __len__(self):
        return 6

    def __getitem__(self, row):
        return torch.tensor(row + self.offset)


def read(DataLoader, offset, workers):
    return batches(DataLoader(Rows(offset), batch_size=4, **workers))


def answer(queue, function, *arguments):
    try:
        queue.put(function(*arguments))
    except Exception as error:
        traceback.print_exc()
        queue.put(f"{kind(error)} in the child")


def in_process(function, *arguments):
    queue = mp.SimpleQueue()
    process = mp.Process(target=answer, args=(queue, function, *arguments))
    process.start()
    found = queue.get()
    process.join()
    return found, process.exitcode


def in_pool(DataLoader, workers):
    # torch refuses to start workers in a daemonic process: right rows are as good an answer.
    try:
        with mp.Pool(1) as pool:
            found = pool.apply(read, (DataLoader, 20, workers))
    except AssertionError:
        return "right or refused"
    assert found == read(DataLoader, 20, {}), found
    return "right or refused" if workers.get("num_workers") else found


def main(DataLoader):
    two = {"num_workers": 2}
    attempt("process", lambda: in_process(read, DataLoader, 10, two))
    loader = DataLoader(Rows(30), batch_size=4, num_workers=2)
    attempt("loader given away", lambda: in_process(batches, loader))
    forked = {"num_workers": 2, "multiprocessing_context": "fork"}  # in a job that was not
    with ProcessPoolExecutor(1) as executor:
        attempt("executor", executor.submit(read, DataLoader, 40, forked).result)
    for workers in WORKERS:
        attempt(f"pool {workers}", lambda: in_pool(DataLoader, workers))
    attempt("here, after all that", lambda: batches(loader))


if __name__ == "__main__":
    run(main)
