"""Joint planning in ticks: who gets how many draws, decided before any row is drawn.

When a reader of a recipe runs low, all readers that share its sampler are topped up to their
look-ahead in one joint draw, so that jobs of equal speed stay in step and slow ones do not hoard. A
tick that would go past the end of some reader's pass is split there.
"""

from collections.abc import Sequence
from math import ceil

from joader.engine.reader import Reader

# Below this even a job with tiny batches would leave workers idle; at 1 ms a sample it is 64 ms of
# one core's work.
LEAST_AHEAD = 64
HORIZON_S = 1.0


def look_ahead(reader: Reader) -> int:
    """Return how many samples should be asked for at a time: what the job reads in HORIZON_S."""
    return max(reader.share, LEAST_AHEAD, ceil(reader.rate * HORIZON_S))


def plan(readers: Sequence[Reader]) -> bool:
    """Top up readers that share a sampler, if one of them is low; tell whether any grew."""
    low = [
        reader
        for reader in readers
        if reader.remaining() and len(reader.samples) < look_ahead(reader)
    ]
    if not low:
        return False
    needs = {
        reader.job: 2 * look_ahead(reader) - len(reader.samples)
        for reader in readers
        if reader.remaining()
    }
    by_job = {reader.job: reader for reader in readers}
    while needs := {job: n for job, n in needs.items() if n > 0 and by_job[job].remaining()}:
        counts = _until_first_end(needs, {job: by_job[job].remaining() for job in needs})
        for job, numbers in readers[0].sampler.draw(counts).items():
            by_job[job].extend(numbers)
            needs[job] -= numbers.size
    return True


def _until_first_end(needs: dict[int, int], remaining: dict[int, int]) -> dict[int, int]:
    """Return what each takes until the first reaches the end of its pass, all at their own pace."""
    short = min(needs, key=lambda job: remaining[job] / needs[job])
    if remaining[short] >= needs[short]:
        return needs
    return {
        job: min(remaining[job], -(-need * remaining[short] // needs[short]))
        for job, need in needs.items()
    }
