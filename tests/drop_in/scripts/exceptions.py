"""What a dataset raises is what the script catches: its fields, its notes, its cause, its kind.

With workers torch itself makes another of a text; here that is what is read without any.
"""

import json
import sys

from loaders import iterators_freed, run
from torch.utils.data import Dataset

FIELDS = ("errno", "filename", "code", "detail", "encoding", "object", "pos", "doc", "name", "end")


class Detailed(Exception):
    """Cannot be made of its args."""

    def __init__(self, path, *, code):
        super().__init__(f"{path} is bad")
        self.code = code
        self.notes = {"path": path}


class Slotted(Exception):
    __slots__ = ("detail",)


def no_file(row):
    open("missing.jpg")


def no_text(row):
    b"\xff".decode()


def no_json(row):
    json.loads("{x")


def no_module(row):
    __import__("no_such_module")


def no_name(row):
    return row.none


def detailed(row):
    raise Detailed("a.jpg", code=7)


def slotted(row):
    error = Slotted("x")
    error.detail = [row]
    raise error


def noted(row):
    error = ValueError("broken")
    error.add_note("look at the file")
    raise error from KeyError("cause")


def local(row):
    class Local(Exception):
        pass

    raise Local(row)


def group(row):
    raise ExceptionGroup("both", [ValueError("a"), Detailed("b", code=2)])


def leaves(row):
    sys.exit(3)


def interrupts(row):
    raise KeyboardInterrupt("the user's own")


class Rows(Dataset):
    def __init__(self, fail):
        self.fail = fail

    def __len__(self):
        return 8

    def __getitem__(self, row):
        if row == 3:
            self.fail(row)
        return row


def shown(error):
    fields = {name: getattr(error, name) for name in FIELDS if hasattr(error, name)}
    notes = [note for note in getattr(error, "__notes__", ()) if not note.startswith("(joader)")]
    return type(error).__qualname__, error.args, str(error), fields, notes, repr(error.__cause__)


FAILURES = (no_file, no_text, no_json, no_module, no_name, detailed, slotted, noted, local)


def main(DataLoader):
    for workers in ({}, {"num_workers": 0}):
        for fail in (
            no_file,
            no_text,
            no_json,
            no_module,
            no_name,
            detailed,
            slotted,
            noted,
            local,
        ):
            try:
                list(DataLoader(Rows(fail), batch_size=2, **workers))
            except Exception as error:
                print(fail.__name__, *shown(error))
        try:
            list(DataLoader(Rows(group), batch_size=2, **workers))
        except* Detailed as found:
            print("in a group", found.exceptions[0].code)
        except* ValueError as found:
            print("in a group", found.exceptions)
        for fail in (leaves, interrupts):
            try:
                with iterators_freed():
                    list(DataLoader(Rows(fail), batch_size=2, **workers))
            except BaseException as error:
                print(type(error), error.args)


if __name__ == "__main__":
    run(main)
