"""A loader with figures to choose."""

from joader.client.counts import LoaderStats

NAMES = {"joader/samples_per_s", "joader/waiting", "joader/saved"}


class Loader:
    """A loader with figures to choose."""

    def __init__(self) -> None:
        self.now = LoaderStats(delivered=0, prepared=0, hits=0, shared=0, wait_s=0.0, epoch=0)

    def stats(self) -> LoaderStats:
        return self.now

    def reads(self, delivered: int, hits: int, wait_s: float) -> None:
        self.now = LoaderStats(
            delivered=self.now.delivered + delivered,
            prepared=self.now.prepared + delivered - hits,
            hits=self.now.hits + hits,
            shared=0,
            wait_s=self.now.wait_s + wait_s,
            epoch=0,
        )
