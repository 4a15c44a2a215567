"""Which loader a script runs with; the one thing beside a script that its user would not write.

LOADER  "torch" or "joader"; "torch,joader": the script's main part runs with one, then the other
START   how multiprocessing, and with it the loaders, start processes: fork, spawn, forkserver
SIDE    set here: the number and name of the loader that is running now

Whatever is printed between two headings is compared, so it must not depend on time or luck.
"""

import gc
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

HEADING = "== loader "
# The ways to ask for workers that must give the same values.
WORKERS = ({"num_workers": 2}, {}, {"num_workers": 0})

# Otherwise every worker imports torch anew: a second and a half each.
multiprocessing.set_forkserver_preload(["torch"])


def loader_class(name: str) -> Any:
    """Return the class of a loader; nothing is imported that is not asked for."""
    if name == "joader":
        import torch  # noqa: F401  # a loader is torch's where torch is loaded

        from joader import DataLoader
    else:
        from torch.utils.data import DataLoader
    return DataLoader


def run(main: Callable[[Any], None]) -> None:
    """Run a script's main part with each loader."""
    if os.environ.get("START"):
        multiprocessing.set_start_method(os.environ["START"])
    for number, name in enumerate(os.environ["LOADER"].split(",")):
        os.environ["SIDE"] = f"{number}-{name}"
        print(f"{HEADING}{number} {name}", flush=True)
        try:
            main(loader_class(name))
        except Exception as error:
            traceback.print_exc()
            print("ended by", kind(error))
        sys.stdout.flush()
        gc.collect()  # a loader in a ring of references would hold its workers


def kind(error: BaseException) -> str:
    """Return the name that an `except` clause has: the nearest class that is not joader's."""
    return next(c.__name__ for c in type(error).__mro__ if not c.__module__.startswith("joader"))


@contextmanager
def iterators_freed() -> Iterator[None]:
    """Let an iterator go that raised: torch's is in a ring with the error that came from a worker.

    If the collector is the one to find it, 5 s go by for each of its workers.
    """
    try:
        yield
    except Exception as error:
        traceback.clear_frames(error.__traceback__)
        raise


def attempt(what: str, function: Callable[[], Any]) -> None:
    """Print what a function returns, or what it raises."""
    try:
        with iterators_freed():
            print(what, function())
    except Exception as error:
        print(what, *traceback.format_exception_only(error), file=sys.stderr)
        print(what, "raises", kind(error))


def show(value: Any) -> str:
    """Return types, dtypes and values, all the way down."""
    name = type(value).__name__
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return f"{name}({value.dtype}, {value.tolist()})"
    if isinstance(value, Enum):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{name}({', '.join(f'{k!r}: {show(v)}' for k, v in value.items())})"
    if isinstance(value, list | tuple):
        return f"{name}({', '.join(map(show, value))})"
    if hasattr(value, "__slots__") and not isinstance(value, str | int):
        return f"{name}({', '.join(f'{s}={show(getattr(value, s))}' for s in value.__slots__)})"
    if is_dataclass(value) or type(value).__module__ in ("__main__", "__mp_main__"):
        fields = ", ".join(f"{k}={show(v)}" for k, v in vars(value).items())
        return f"{name}({value!r})" if isinstance(value, str | int) else f"{name}({fields})"
    return f"{name}({value!r})"


def batches(loader: Any) -> list[str]:
    """Return what a pass gives, batch by batch."""
    return [show(batch) for batch in loader]


def rows(loader: Any) -> list[Any]:
    """Return the numbers of all batches of a pass in one list."""
    return [number for batch in loader for number in batch.tolist()]


def meet(point: str, others: int = 1) -> None:
    """Wait until so many other scripts have come to this point."""
    folder = Path(os.environ["MEETING"]) / f"{os.environ['SIDE']}-{point}"
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while len(list(folder.iterdir())) <= others:
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody else came to {point} in 60 s")
        time.sleep(0.005)
