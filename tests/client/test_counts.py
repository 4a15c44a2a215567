"""What a loader has yielded, counted."""

import numpy as np

from joader.client.counts import Counts, LoaderStats
from joader.messages import Deliver


def batch(size: int, prepared: int = 0, shared: int = 0, repeated: int = 0) -> Deliver:
    rows = np.arange(size)
    return Deliver(1, rows, rows, rows, prepared=prepared, shared=shared, repeated=repeated)


def test_what_was_not_prepared_was_there() -> None:
    counts = Counts()
    counts.note(batch(8, prepared=3, shared=2), 0.25, failed=0, replaced=0, alone=False)
    counts.note(batch(4, prepared=4, repeated=1), 0.5004, failed=0, replaced=0, alone=False)
    found = counts.stats(epoch=2)
    assert found == LoaderStats(12, 7, hits=5, shared=2, wait_s=0.75, epoch=2, repeated=1)


def test_rows_that_failed_are_skipped_or_replaced_and_never_delivered() -> None:
    counts = Counts()
    counts.note(batch(8, prepared=8), 0.0, failed=3, replaced=1, alone=False)
    found = counts.stats(0)
    assert (found.delivered, found.prepared, found.hits) == (5, 5, 0)
    assert (found.skipped, found.replaced) == (2, 1)


def test_what_came_without_a_daemon_is_counted_apart() -> None:
    counts = Counts()
    counts.note(batch(8, prepared=8), 0.0, failed=1, replaced=0, alone=True)
    counts.note_inside(5)
    found = counts.stats(0)
    assert (found.delivered, found.prepared, found.fallback) == (12, 12, 12)
