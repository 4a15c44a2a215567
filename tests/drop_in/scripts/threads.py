"""A pass that begins in a thread, goes on in another, under asyncio, or is read by several."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from loaders import rows, run
from torch.utils.data import Dataset


class Rows(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, row):
        return row


def begun_in_a_thread(loader):
    """The thread that called iter() is gone when the rest is read."""
    begun = []
    thread = threading.Thread(target=lambda: begun.append(iter(loader)))
    thread.start()
    thread.join()
    time.sleep(0.2)
    return rows(begun[0])


def prefetched_by_a_thread(loader):
    """A data prefetcher: a thread reads one batch ahead."""
    it, seen = iter(loader), []
    with ThreadPoolExecutor(1) as executor:
        ahead = executor.submit(next, it, None)
        while (batch := ahead.result()) is not None:
            ahead = executor.submit(next, it, None)
            seen += batch.tolist()
    return seen


async def under_asyncio(loader):
    it, seen = iter(loader), []
    while (batch := await asyncio.to_thread(next, it, None)) is not None:
        seen += batch.tolist()
    return seen, rows(loader)


def shared_iterator(DataLoader):
    """Several threads, one iterator: all rows once, or an error, and either at once."""
    workers = 0 if DataLoader is torch.utils.data.DataLoader else 2
    it = iter(DataLoader(Rows(), batch_size=2, num_workers=workers))
    seen, errors, began = [], [], time.monotonic()

    def take():
        try:
            while True:
                seen.extend(next(it).tolist())
        except StopIteration:
            pass
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=take, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    at_once = time.monotonic() - began < 10
    right = sorted(seen) == list(range(40)) or (errors and len(set(seen)) == len(seen))
    return "right or refused" if right else sorted(seen), at_once


def main(DataLoader):
    for workers in (2, 0):
        loader = DataLoader(Rows(), batch_size=4, num_workers=workers)
        print(begun_in_a_thread(loader))
        print(prefetched_by_a_thread(loader))
        print(asyncio.run(under_asyncio(loader)))
    print(shared_iterator(DataLoader))


if __name__ == "__main__":
    run(main)
