"""The job forks, waits for its children, and ignores SIGCHLD, while it reads.

torch itself loses its workers in some of these, so its values are those of no workers.
"""

import multiprocessing as mp
import os
import signal
import sys
import time

import torch
from loaders import rows, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, row):
        time.sleep(0.001)
        return row


def helper():
    time.sleep(0.05)


def fork_that_ends_normally(it):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)


def process_that_ends(it):
    process = mp.Process(target=helper)
    process.start()
    process.join()


def wait_for_all_children(it):
    process = mp.Process(target=helper)
    process.start()
    for child in mp.active_children():
        child.join()


def count_children(it):
    print("children that multiprocessing knows", len(mp.active_children()))


def run_a_program(it):
    os.system("true")


def main(DataLoader):
    workers = 0 if DataLoader is torch.utils.data.DataLoader else 2
    events = (
        *(fork_that_ends_normally, process_that_ends, wait_for_all_children),
        *(count_children, run_a_program),
    )
    for event in events:
        loader = DataLoader(Rows(), batch_size=4, num_workers=workers)
        it = iter(loader)
        seen = next(it).tolist()
        event(it)
        print(event.__name__, seen + rows(it), "again", rows(loader))
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        print("SIGCHLD ignored", rows(DataLoader(Rows(), batch_size=4, num_workers=workers)))
    finally:
        signal.signal(signal.SIGCHLD, before)
    print("and as it was", rows(DataLoader(Rows(), batch_size=4, num_workers=workers)))


if __name__ == "__main__":
    run(main)
