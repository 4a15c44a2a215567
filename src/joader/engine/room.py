"""Room for samples: by right within a job's share; beyond it only while nobody else is owed any."""

from joader.engine.reader import Reader
from joader.engine.stock import Stock
from joader.errors import CacheFull
from joader.schedule.shares import spare_bytes, who_gives_back


class Room:
    """Slots for a stock's samples."""

    def __init__(self, stock: Stock) -> None:
        """Find room for this stock."""
        self._stock = stock

    def give_up(self, reader: Reader) -> None:
        """Give up the farthest sample the reader asked for; it stays planned."""
        position, sample = reader.window.unask()
        if reader.window.failed.pop(position, None) is not None:
            return
        if position in reader.window.unready:
            reader.window.unready.remove(position)
            del self._stock.underway[sample].waiting[reader.job, position]
        if self._stock.cache.has(sample):
            self._stock.cache.release(reader.job, sample)
        if reader.terms.fresh:
            self._stock.instances.put_back(
                reader.terms.reads_for, self._stock.source.get(sample, sample)
            )
        self._stock.drop_if_own(sample)

    def give_up_all(self, reader: Reader) -> None:
        """Give up all the reader asked for."""
        while reader.window.samples:
            self.give_up(reader)

    def room_for(self, reader: Reader, sample: int, size_bytes: int) -> bool:
        """Reserve a slot for what a reader asks for, by its share or beyond it."""
        within_share = reader.window.size < reader.share
        if not within_share and not self.spare(size_bytes):
            return False
        return self.reserve(sample, size_bytes, within_share) is not None

    def reserve(self, sample: int, size_bytes: int, reclaim: bool) -> int | None:
        """Reserve a slot; with `reclaim`, readers give back what they have beyond their shares."""
        while True:
            try:
                offset, evicted = self._stock.cache.reserve(sample, size_bytes)
            except CacheFull:
                if reclaim and self.reclaim(sample):
                    continue
                return None
            self._stock.forget(evicted)
            return offset

    def somebody_waits_for_room(self) -> bool:
        """Tell whether a prepared sample that somebody wants waits for a slot."""
        return bool(self._stock.unplaced) and any(map(self._stock.wanted, self._stock.unplaced))

    def may_go_without(self, reader: Reader) -> bool:
        """Tell whether a reader may have a sample prepared without a slot: its size is then known.

        For a reader that is stuck: what is reserved may be more than the sample will need.
        """
        return reader.stuck and not self.somebody_waits_for_room()

    def spare(self, size_bytes: int) -> bool:
        """Tell whether there is room beyond what readers are still owed, and who waits for room."""
        if self.somebody_waits_for_room():
            return False
        free_bytes = self._stock.cache.capacity_bytes - self._stock.cache.pinned_bytes - size_bytes
        return spare_bytes(free_bytes, (one.holding for one in self._stock.readers.values())) >= 0

    def reclaim(self, wanted: int) -> bool:
        """Take the farthest sample from the reader with most beyond its share, but not this."""
        asking = (one for one in self._stock.readers.values() if one.window.samples)
        for reader in who_gives_back((one.holding, one) for one in asking):
            sample = reader.window.samples[-1]
            if sample != wanted and (
                sample not in self._stock.underway or sample in self._stock.unplaced
            ):
                self.give_up(reader)
                return True
        return False
