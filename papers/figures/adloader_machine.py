"""The machine of the A-Dloader paper: what it prints of its rates, and what follows.

Two of its *baselines* say how fast workers load: three jobs on 6 workers each (Figure 3, balance)
load 1,660 images per second together; 10 workers, given by a model without contention (section
IV-D), load 1,391. Contention starts at 11 workers and ends at 24 (Figure 5), so that is the curve.
"""

from bisect import bisect_right

WORKERS = 18
BALANCE = 1660.0  # images per second of 18 workers
TEN_WORKERS = 1391.0
CONTENTION_FROM, CONTENTION_TO = 11, 24
PAUSE_S = 16.0  # "one round of pausing and retrieving, i.e., about 16 seconds"
WINDOW_S = 30.0  # "the time window of 30 seconds for both buffers"

_FREE = TEN_WORKERS / 10
_CONTENDED = (BALANCE - CONTENTION_FROM * _FREE) / (WORKERS - CONTENTION_FROM)
_POINTS = (
    (0.0, 0.0),
    (float(CONTENTION_FROM), CONTENTION_FROM * _FREE),
    (
        float(CONTENTION_TO),
        CONTENTION_FROM * _FREE + (CONTENTION_TO - CONTENTION_FROM) * _CONTENDED,
    ),
)


def loading(workers: float) -> float:
    """Return images per second of so many busy workers: free, contended, saturated."""
    place = bisect_right([point[0] for point in _POINTS], workers)
    if place == len(_POINTS):
        return _POINTS[-1][1]
    (x0, y0), (x1, y1) = _POINTS[place - 1], _POINTS[place]
    return y0 + (y1 - y0) * (workers - x0) / (x1 - x0)


def describe(effort: object = None) -> tuple[str, ...]:
    """Say what was fitted, for people."""
    return (
        f"loading fitted to two baselines: {_FREE:.0f} images/s per worker up to "
        f"{CONTENTION_FROM} (1,391 with 10), {_CONTENDED:.1f} for each further one up to "
        f"{CONTENTION_TO} (1,660 with 18)",
    )
