"""Runs one catalog operation in children that are killed in the middle of it.

Arguments: the operation, a folder (`template` in it is copied for each child), and kill points as
JSON. A child counts the lines of `joader.catalog` that it runs and kills itself (-9) before the
n-th; at 0 it is not killed. A point between 0 and 1 is a part of the lines that the first child
ran, which then has to be one that is not killed. With a negative number n a child is killed from
outside after -n microseconds. Printed: how many lines each child ran that was not killed.
The process forks before it uses Arrow or SQLite: their threads and locks do not survive a fork.
"""

import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb  # noqa: F401 - imported before the forks
import pyarrow.ipc  # noqa: F401

import joader
import joader.catalog

HOME = str(Path(joader.catalog.__file__).parent)


def create(folder: Path) -> None:
    joader.create("pets", folder / "pictures")


def append(folder: Path) -> None:
    joader.open("pets").append(folder / "more")


def delete(folder: Path) -> None:
    joader.open("pets").delete(where="label = 1")


def add_column(folder: Path) -> None:
    table = joader.open("pets")
    table.add_column("weight", [row * 1.5 for row in range(len(table))])


def refresh(folder: Path) -> None:
    joader.open("pets").refresh()


def drop(folder: Path) -> None:
    joader.drop("pets")


OPERATIONS = {
    function.__name__: function for function in (create, append, delete, add_column, refresh, drop)
}


class Lines:
    """Counts lines of the catalog's code, and ends the process before one of them."""

    def __init__(self, last: int) -> None:
        self.count = 0
        self._last = last

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        if event == "line":
            self.count += 1
            if self.count == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def child(operation: str, folder: Path, point: int) -> int:
    """Run the operation, and return how many lines it took."""
    os.environ["JOADER_CATALOG"] = str(folder / "catalog")
    lines = Lines(point)
    if point >= 0:
        threading.settrace(lines)
        sys.settrace(lines)
    OPERATIONS[operation](folder)
    sys.settrace(None)
    return lines.count


def main() -> None:
    operation, home, points = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    counts = []
    for point in points:
        folder = home / str(point)
        shutil.copytree(home / "template", folder, copy_function=shutil.copy2)
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            line = int(point * counts[0]) if 0 < point < 1 else point
            os.write(writer, b"%d" % child(operation, folder, line))
            os._exit(0)
        os.close(writer)
        if point < 0:
            time.sleep(-point / 1e6)
            os.kill(pid, signal.SIGKILL)
        counts.append(int(os.read(reader, 20) or 0))
        os.close(reader)
        os.waitpid(pid, 0)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
