"""Ctrl-C in a loop, as in a notebook or a script that saves and goes on."""

import os
import signal
import time

from loaders import rows, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, row):
        time.sleep(0.001)
        return row


def main(DataLoader):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has none
    for workers in (2, 0):
        loader = DataLoader(Rows(), batch_size=4, num_workers=workers)
        try:
            for batch in loader:
                os.killpg(os.getpgrp(), signal.SIGINT)  # as a terminal does
                time.sleep(1)
        except KeyboardInterrupt:
            print("interrupted at", batch.tolist())
        print("a new loop", rows(loader))
        it = iter(loader)
        seen = next(it).tolist()
        try:
            signal.raise_signal(signal.SIGINT)  # to the job alone
        except KeyboardInterrupt:
            print("interrupted at", seen)
        print("the same loop", rows(it))


if __name__ == "__main__":
    run(main)
