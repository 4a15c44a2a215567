"""What a loader has yielded, counted over all its passes."""

from dataclasses import dataclass

from joader.messages import Deliver


@dataclass(frozen=True)
class LoaderStats:
    """What a loader got: delivered = hits + prepared; `shared` hits came from other jobs' work.

    `skipped` and `replaced`: rows that could not be prepared, by what `on_error` made of them.
    `repeated`: rows that ranks read again so that all take equally many steps.
    `fallback`: rows that came without a daemon: the job read them itself, as there was none for it,
    or torch's own loader did, as they cannot be shared.
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

    def note(self, batch: Deliver, wait_s: float, failed: int, replaced: int, alone: bool) -> None:
        """Count a batch of which so many rows failed, and so many of these were replaced."""
        good = len(batch.positions) - failed
        self.delivered += good
        # Without a daemon all rows of a batch count as prepared, also those that failed.
        self.prepared += min(good, batch.prepared)
        self.shared += batch.shared
        self.wait_s += wait_s
        self.skipped += failed - replaced
        self.replaced += replaced
        self.repeated += batch.repeated
        self.fallback += good if alone else 0

    def note_inside(self, samples: int) -> None:
        """Count a batch of so many samples that torch's own loader gave."""
        self.delivered += samples
        self.prepared += samples
        self.fallback += samples

    def stats(self, epoch: int) -> LoaderStats:
        """Return the figures as they are now."""
        return LoaderStats(
            delivered=self.delivered,
            prepared=self.prepared,
            hits=self.delivered - self.prepared,
            shared=self.shared,
            wait_s=round(self.wait_s, 3),
            epoch=epoch,
            skipped=self.skipped,
            replaced=self.replaced,
            repeated=self.repeated,
            fallback=self.fallback,
        )
