"""What dataset code prints is seen where the job's own lines are."""

import os
import sys

from loaders import run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, row):
        print("row", row)
        os.write(1, f"written {row}\n".encode())
        if row == 2:
            sys.stdout.write("a line by write\n")
            os.system("echo a line of a program")
        return row


def announce(worker):
    if worker == 0:  # how many there are is the loader's business
        print("worker", worker)


def talkative(samples):
    print("collating", samples)
    return samples


def main(DataLoader):
    for workers in (2, 0):
        two = {"num_workers": workers, "worker_init_fn": announce, "collate_fn": talkative}
        for batch in DataLoader(Rows(), batch_size=2, **two):
            print("the job got", batch)


if __name__ == "__main__":
    run(main)
