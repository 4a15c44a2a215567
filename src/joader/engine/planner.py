"""Joint planning in ticks: who gets how many draws, decided before any row is drawn.

When a reader of a recipe runs low, all readers that share its sampler are topped up to twice their
look-ahead in one joint draw, so that jobs of equal speed stay in step and slow ones do not hoard. A
tick that would go past the end of some reader's pass is split there. On demand (limits.py) a tick
is what is wanted at one moment.
"""

from collections.abc import Sequence

from joader.engine.reader import Reader


def plan(readers: Sequence[Reader]) -> None:
    """Top up readers that share a sampler."""
    needs = {reader.job: reader.plan_ahead - len(reader.positions) for reader in readers}
    by_job = {reader.job: reader for reader in readers}
    while needs := {job: n for job, n in needs.items() if n > 0 and by_job[job].undrawn}:
        counts = _until_first_end(needs, {job: by_job[job].undrawn for job in needs})
        for job, numbers in readers[0].sampler.draw(counts).items():
            by_job[job].extend(numbers)
            needs[job] -= numbers.size


def _until_first_end(needs: dict[int, int], undrawn: dict[int, int]) -> dict[int, int]:
    """Return what each takes until the first reaches the end of its pass, all at their own pace."""
    short = min(needs, key=lambda job: undrawn[job] / needs[job])
    if undrawn[short] >= needs[short]:
        return needs
    return {
        job: min(undrawn[job], -(-need * undrawn[short] // needs[short]))
        for job, need in needs.items()
    }
