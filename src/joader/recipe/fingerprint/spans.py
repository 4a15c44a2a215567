"""Work over the spans of a large buffer, in short-lived threads.

hashlib and NumPy release the GIL while they compute. The threads are gone when the result is ready:
a job may fork soon after, and a fork should find no thread of ours.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_MAX_THREADS = 8  # more would exceed the memory bandwidth, and a job is not alone on its machine

Answer = TypeVar("Answer")


def over_spans(work: Callable[[int, int], Answer], size: int, step: int) -> list[Answer]:
    """Return work(start, end) for every span of `step` in a buffer, in order."""
    spans = [(start, min(start + step, size)) for start in range(0, size, step)]
    threads = min(len(spans), len(os.sched_getaffinity(0)), _MAX_THREADS)
    if threads < 2:
        return [work(*span) for span in spans]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda span: work(*span), spans))
