"""Where the user's random numbers start: by job, pass and position, whichever worker prepares it.

A fresh process would be no source of randomness: torch starts every one from the same seed. So the
global generators that user code draws from are seeded before each row. With several threads a
worker they are still fresh, but no longer repeatable, as threads draw from them side by side.
"""

import random
import sys

import numpy as np


def start_random_numbers(key: int) -> None:
    """Seed the global generators of Python and NumPy, and of torch where it is loaded."""
    random.seed(key)
    np.random.seed(key & 0xFFFFFFFF)  # noqa: NPY002 - the one that user code draws from
    torch_random = sys.modules.get("torch.random")
    if torch_random is not None:
        # Not torch.manual_seed: it also queues a seed for every GPU, with a traceback each time.
        torch_random.default_generator.manual_seed(key)
