"""What a loader did since it was asked last, as named numbers."""

import time
from typing import Any

PREFIX = "joader/"


class Scalars:
    """Differences of a loader's `stats()`."""

    def __init__(self, loader: Any) -> None:
        """Begin now."""
        self._loader = loader
        self._at, self._before = time.perf_counter(), loader.stats()

    def take(self) -> dict[str, float]:
        """Return samples per second, part of the time waited, and part of the work saved."""
        now, stats = time.perf_counter(), self._loader.stats()
        seconds, before = max(now - self._at, 1e-9), self._before
        delivered = stats.delivered - before.delivered
        hits = stats.hits - before.hits
        self._at, self._before = now, stats
        return {
            f"{PREFIX}samples_per_s": delivered / seconds,
            f"{PREFIX}waiting": min(1.0, (stats.wait_s - before.wait_s) / seconds),
            f"{PREFIX}saved": hits / delivered if delivered else 0.0,
        }
