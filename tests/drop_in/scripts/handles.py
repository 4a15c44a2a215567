"""Datasets that hold what cannot be pickled: a file, a lock, a connection, a mapping.

Under fork all of them work; under spawn and forkserver torch raises, and which error counts.
"""

import mmap
import os
import sqlite3
import struct
import threading
from pathlib import Path

from loaders import WORKERS, attempt, batches, run
from torch.utils.data import Dataset

NUMBERS = Path("numbers.bin")
BASE = Path("numbers.sqlite")


def make_files():
    NUMBERS.write_bytes(struct.pack("8i", *range(100, 108)))
    BASE.unlink(missing_ok=True)
    base = sqlite3.connect(BASE)
    base.execute("create table numbers (row integer primary key, value integer)")
    base.executemany("insert into numbers values (?, ?)", [(i, 200 + i) for i in range(8)])
    base.commit()
    base.close()


class Rows(Dataset):
    def __len__(self):
        return 8


class OpenFile(Rows):
    def __init__(self):
        self.file = NUMBERS.open("rb")

    def __getitem__(self, row):
        return struct.unpack("i", os.pread(self.file.fileno(), 4, 4 * row))[0]


class Mapped(Rows):
    def __init__(self):
        with NUMBERS.open("rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __getitem__(self, row):
        return struct.unpack_from("i", self.map, 4 * row)[0]


class Locked(Rows):
    def __init__(self):
        self.lock = threading.Lock()

    def __getitem__(self, row):
        with self.lock:
            return row


class LazyBase(Rows):
    def __init__(self):
        self.base = None

    def __getitem__(self, row):
        if self.base is None:
            self.base = sqlite3.connect(BASE)
        query = "select value from numbers where row = ?"
        return self.base.execute(query, (row,)).fetchone()[0]


class LazyFile(Rows):
    file = None

    def __getitem__(self, row):
        if self.file is None:
            self.file = NUMBERS.open("rb", buffering=0)
        return struct.unpack("i", os.pread(self.file.fileno(), 4, 4 * row))[0]


def main(DataLoader):
    make_files()
    for kind in (OpenFile, Mapped, Locked, LazyBase, LazyFile):
        for workers in WORKERS:
            rows = kind()
            print(kind.__name__, workers, "first", rows[0])  # everybody looks at a row first
            attempt("all", lambda: batches(DataLoader(rows, batch_size=4, **workers)))
            print("still usable here", rows[7])


if __name__ == "__main__":
    run(main)
