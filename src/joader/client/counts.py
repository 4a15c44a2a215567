"""What a loader has yielded, counted over all its passes."""

from dataclasses import dataclass

from joader.messages import BatchReady


@dataclass(frozen=True)
class LoaderStats:
    """What a loader got: delivered = hits + prepared; `shared` hits came from other jobs' work.

    `skipped` and `replaced`: rows that could not be prepared, by what `on_error` made of them.
    `repeated`: rows that ranks read again so that all take equally many steps.
    `fallback`: rows that the job prepared itself, as there was no daemon for it.
    """

    delivered: int
    prepared: int
    hits: int
    shared: int
    wait_s: float
    epoch: int
    skipped: int = 0
    replaced: int = 0
    repeated: int = 0
    fallback: int = 0


@dataclass
class Counts:
    """The figures behind `LoaderStats`, as they grow."""

    delivered: int = 0
    prepared: int = 0
    shared: int = 0
    wait_s: float = 0.0
    skipped: int = 0
    replaced: int = 0
    repeated: int = 0
    fallback: int = 0

    def note(self, batch: BatchReady, wait_s: float, replaced: int, alone: bool) -> None:
        """Count a batch, in which so many of the rows that failed were replaced."""
        self.delivered += len(batch.layouts)
        self.prepared += batch.prepared
        self.shared += batch.shared
        self.wait_s += wait_s
        self.skipped += len(batch.failed) - replaced
        self.replaced += replaced
        self.repeated += batch.repeated
        self.fallback += len(batch.layouts) if alone else 0

    def stats(self, epoch: int) -> LoaderStats:
        """Return the figures as they are now."""
        return LoaderStats(
            self.delivered,
            self.prepared,
            self.delivered - self.prepared,
            self.shared,
            round(self.wait_s, 3),
            epoch,
            self.skipped,
            self.replaced,
            self.repeated,
            self.fallback,
        )
