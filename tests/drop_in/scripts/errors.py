"""What a dataset raises is caught by the `except` clause that its user wrote."""

import os

from loaders import attempt, iterators_freed, kind, rows, run
from torch.utils.data import Dataset


class Broken(Exception):
    """The script's own."""


class TwoWords(Exception):
    """Cannot be made from a message alone, as torch would; torch then raises RuntimeError."""

    def __init__(self, path, line):
        super().__init__(path, line)


def file_not_found(row):
    open(f"missing-{row}.jpg")


def key_error(row):
    return {}["label"]


def own(row):
    raise Broken(f"row {row} is broken")


def own_with_cause(row):
    try:
        int("x")
    except ValueError as error:
        raise Broken("no number") from error


def two_words(row):
    raise TwoWords("file", 3)


def index_error(row):
    return [][row]


def assertion(row):
    assert row < 0, f"row {row}"


def dies(row):
    os._exit(3)


class Rows(Dataset):
    def __init__(self, fail):
        self.fail = fail

    def __len__(self):
        return 8

    def __getitem__(self, row):
        if row == 3:
            self.fail(row)
        return row


def caught(loader):
    seen = []
    try:
        with iterators_freed():
            for batch in loader:
                seen += batch.tolist()
    except FileNotFoundError as error:
        return "FileNotFoundError", "missing-3.jpg" in str(error), seen
    except KeyError as error:
        return "KeyError", "label" in str(error), seen
    except IndexError:
        return "IndexError", seen
    except Broken as error:
        return "Broken", ("row 3 is broken" in str(error), "no number" in str(error)), seen
    except AssertionError as error:
        return "AssertionError", "row 3" in str(error), seen
    except (RuntimeError, TwoWords):
        return "RuntimeError", seen
    return "nothing", seen


def after_the_error(loader):
    """An iterator goes on behind the batch that failed."""
    it, found = iter(loader), []
    while True:
        try:
            with iterators_freed():
                found.append(next(it).tolist())
        except StopIteration:
            return found
        except Broken:
            found.append("Broken")


def bad_collate(samples):
    raise Broken("collate")


def bad_init(worker):
    raise Broken("init")


class BadSampler:
    def __iter__(self):
        yield 0
        raise Broken("sampler")

    def __len__(self):
        return 8


FAILURES = (*(file_not_found, key_error, own, own_with_cause, two_words, index_error, assertion),)


def main(DataLoader):
    for workers in (2, 0):
        for fail in FAILURES:
            loader = DataLoader(Rows(fail), batch_size=2, num_workers=workers)
            print(workers, fail.__name__, *caught(loader))
        two = {"batch_size": 2, "num_workers": workers}
        print("goes on", after_the_error(DataLoader(Rows(own), **two)))
        attempt("collate", lambda: rows(DataLoader(Rows(id), collate_fn=bad_collate, **two)))
        attempt("init", lambda: rows(DataLoader(Rows(id), worker_init_fn=bad_init, **two)))
        attempt("sampler", lambda: rows(DataLoader(Rows(id), sampler=BadSampler(), **two)))
    try:
        rows(DataLoader(Rows(own_with_cause), batch_size=2, num_workers=0))
    except Broken as error:
        causes = []
        while error is not None:  # joader raises from the original, which has its own cause
            causes.append(kind(error))
            error = error.__cause__
        print("causes", list(dict.fromkeys(causes)))
    try:
        with iterators_freed():
            rows(DataLoader(Rows(dies), batch_size=2, num_workers=2))
    except RuntimeError:
        print("a worker that dies: RuntimeError")


if __name__ == "__main__":
    run(main)
