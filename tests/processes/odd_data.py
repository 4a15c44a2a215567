"""A dataset whose rows do what a test chooses: hang, crash, fork, print, or return odd things."""

import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class Odd:
    """Row i is an array full of i, and i; the rows in `odd` do something before, or instead."""

    def __init__(self, length: int, odd: dict[int, str], argument: str = "") -> None:
        self.length, self.odd, self.argument = length, odd, argument

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> Any:
        what = self.odd.get(row, self.odd.get(-1))
        if what is not None:
            sample = globals()[what](self.argument)
            if sample is not None:
                return sample() if callable(sample) else sample
        return np.full((8, 8), row % 251, np.uint8), row


class Unfriendly(Exception):
    """Neither picklable nor printable."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __reduce__(self) -> Any:
        raise TypeError("cannot be pickled")


def sleeps(_: str) -> None:
    time.sleep(1e6)


def holds_the_interpreter(_: str) -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")


def reads_address_zero(_: str) -> None:
    ctypes.string_at(0)


def reads_address_zero_once(folder: str) -> None:
    if not os.path.exists(mark := os.path.join(folder, "once")):
        Path(mark).touch()
        ctypes.string_at(0)


def exits_at_once(_: str) -> None:
    os._exit(3)


def raises_unfriendly(_: str) -> None:
    raise Unfriendly


def raises_system_exit(_: str) -> None:
    sys.exit("the end")


def raises_keyboard_interrupt(_: str) -> None:
    raise KeyboardInterrupt


def raises_stop_iteration(_: str) -> None:
    raise StopIteration


def raises_chained(_: str) -> None:
    try:
        {}["cause"]
    except KeyError as error:
        raise ValueError("the effect") from error


def raises_a_long_text(_: str) -> None:
    raise ValueError("x" * 50_000_000)


def recurses(_: str) -> None:
    def again(depth: int) -> int:
        return again(depth + 1) + 1

    again(0)


def warns(_: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("take care", stacklevel=1)


def rests(_: str) -> None:
    time.sleep(3)


def opens_a_missing_file(_: str) -> None:
    Path("/nonexistent/photo.jpg").read_bytes()


def opens_a_folder(_: str) -> None:
    Path("/proc").read_bytes()


def reads_input(_: str) -> None:
    assert sys.stdin.read() == ""
    input()


def forks_for_ever(folder: str) -> None:
    """Leave a child that neither ends nor has anything to do with joader."""
    child = os.fork()
    if child == 0:
        held = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        maps = Path("/proc/self/maps").read_text()
        Path(folder, "new").write_text("\n".join([*held, maps]))
        Path(folder, "new").rename(Path(folder, f"held{os.getpid()}"))
        time.sleep(1e6)
    wait_for(Path(folder, f"held{child}"))


def forks_and_comes_back(folder: str) -> None:
    """Let both processes go on: the child would answer a second time."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        Path(folder, "status").write_text(str(os.waitstatus_to_exitcode(status)))


def runs_a_program(folder: str) -> None:
    """Start a program without closing descriptors, as os.system does."""
    script = f"ls -l /proc/self/fd > {folder}/fds.new; mv {folder}/fds.new {folder}/fds; sleep 1000"
    subprocess.Popen(["sh", "-c", script], close_fds=False)
    wait_for(Path(folder, "fds"))


def prints_much(_: str) -> None:
    for _number in range(300):
        print("out " + "x" * 1000)
        print("err " + "x" * 1000, file=sys.stderr)


def changes_folder(folder: str) -> None:
    assert os.getcwd() == folder
    os.chdir("/proc")


def changes_surroundings(_: str) -> None:
    random.seed(0)
    os.environ["JOADER_ODD"] = "1"
    threading.Thread(target=time.sleep, args=(1000,)).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    os.closerange(100, 200)


def signs(folder: str) -> None:
    """Leave the number of the process, after a while."""
    Path(folder, f"signed-{os.getpid()}").touch()
    time.sleep(0.01)


def leaks(_: str) -> None:
    LEAK.append(np.ones(1 << 20, np.uint8))
    time.sleep(0.005)


def rests_shortly(_: str) -> None:
    time.sleep(0.01)


def keeps_once(_: str) -> None:
    if not LEAK:
        LEAK.append(np.ones(100 << 20, np.uint8))
    time.sleep(0.005)


def returns_other_shapes(_: str) -> Any:
    return np.zeros((4, 4), np.uint8), 0


def returns_nine(_: str) -> Any:
    return np.zeros((8, 8), np.uint8), 9


def returns_other_types(_: str) -> Any:
    return {"image": np.zeros((8, 8), np.uint8)}


def returns_none(_: str) -> Callable[[], None]:
    return lambda: None


def returns_a_lock(_: str) -> Any:
    return threading.Lock(), 1


LEAK: list[Any] = []


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)
