"""Seeds the user's random numbers by job, pass and position, independent of the worker.

Workers are forked from one process, so all of them inherit its generators, and any of them may
prepare a row. So the global generators that user code draws from are seeded before each row.
"""

import random
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import numpy as np


def key_of(pass_key: int, position: int, times: int) -> int:
    """Return the seed of a position that came `times` times before in a pass."""
    name = struct.pack("<3Q", pass_key, position, times)
    return int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1


def start_random_numbers(key: int) -> None:
    """Seed the global generators of Python and NumPy, and of torch if it is loaded."""
    random.seed(key)
    np.random.seed(key & 0xFFFFFFFF)  # noqa: NPY002 - the one that user code draws from
    torch_random = sys.modules.get("torch.random")
    if torch_random is not None:
        # Not torch.manual_seed: it also queues a seed for every GPU, with a traceback each time.
        torch_random.default_generator.manual_seed(key)


def random_state() -> tuple[object, ...]:
    """Return the states of the global generators: they change if code draws from one of them."""
    of_numpy, of_torch = None, None
    if "numpy.random" in sys.modules:  # to load it takes 5 ms
        legacy = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 - as above
        of_numpy = legacy["key"].tobytes(), legacy["pos"]
    if (torch_random := sys.modules.get("torch.random")) is not None:
        of_torch = torch_random.default_generator.get_state().numpy().tobytes()
    return random.getstate(), of_numpy, of_torch


@contextmanager
def kept_random_numbers() -> Iterator[None]:
    """Restore the global generators, and torch's get_worker_info(), after the block."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - as above
    torch_random = sys.modules.get("torch.random")
    torch_state = torch_random.default_generator.get_state() if torch_random else None
    torch_worker = sys.modules.get("torch.utils.data._utils.worker")
    worker_info = torch_worker._worker_info if torch_worker else None
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002 - as above
        if torch_random is not None:
            torch_random.default_generator.set_state(torch_state)
        if torch_worker is not None:
            torch_worker.__dict__["_worker_info"] = worker_info
