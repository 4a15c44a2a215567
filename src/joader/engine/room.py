"""Room for samples: by right within a job's share, beyond it only if no other job is owed any."""

from joader.engine.reader import Reader
from joader.engine.stock import Stock
from joader.schedule.shares.memory import spare_bytes, who_gives_back


class Room:
    """Slots for a stock's samples."""

    def __init__(self, stock: Stock) -> None:
        """Find room for this stock."""
        self._stock = stock

    def give_up(self, reader: Reader) -> None:
        """Give up the farthest sample the reader asked for; it stays planned."""
        stock = self._stock
        position, sample = reader.window.unask()
        if reader.window.failed.pop(position, None) is not None:
            return
        if position in reader.window.unready:
            reader.window.unready.remove(position)
            del stock.underway[sample].waiting[reader.job, position]
        if reader.terms.fresh and (source := stock.source_of(sample)) >= 0:
            stock.instances.put_back(reader.terms.reads_for, source)
        if stock.is_own(sample):
            stock.unclaim(sample, reader.job)
        stock.cache.release(sample)
        stock.drop_if_own(sample)

    def give_up_all(self, reader: Reader) -> None:
        """Give up all the reader asked for."""
        while reader.window.samples:
            self.give_up(reader)

    def reserve(self, sample: int, size_bytes: int, reclaim: bool) -> bool:
        """Reserve a slot; with `reclaim`, readers give back what they have beyond their shares."""
        return self.reserve_each([sample], size_bytes, int(reclaim)) == 1

    def reserve_each(self, samples: list[int], size_bytes: int, by_right: int) -> int:
        """Reserve slots of one size for the first of these samples; return how many got one.

        For the first `by_right` of them, readers give back what they have beyond their shares.
        """
        count = 0
        while count < len(samples):
            more, evicted = self._stock.cache.reserve_each(samples[count:], size_bytes)
            self._stock.forget(evicted)
            count += more
            if count >= min(by_right, len(samples)) or not self.reclaim(samples[count]):
                break
        return count

    def somebody_waits_for_room(self) -> bool:
        """Tell whether a prepared sample that a job wants waits for a slot."""
        return bool(self._stock.unplaced) and any(map(self._stock.wanted, self._stock.unplaced))

    def may_go_without(self, reader: Reader) -> bool:
        """Tell whether a reader may have a sample prepared without a slot: its size is then known.

        For a reader that is stuck: what is reserved may be more than the sample will need.
        """
        return reader.stuck and not self.somebody_waits_for_room()

    def spare_bytes(self) -> int:
        """Return how much room there is beyond what is owed to readers and to waiting samples."""
        if self.somebody_waits_for_room():
            return -1
        taken_bytes = self._stock.cache.pinned_bytes + self._stock.promised_bytes
        free_bytes = self._stock.cache.capacity_bytes - taken_bytes
        return spare_bytes(free_bytes, (one.holding for one in self._stock.readers.values()))

    def reclaim(self, wanted: int) -> bool:
        """Take the farthest sample, but not `wanted`, of the reader most beyond its share."""
        asking = (one for one in self._stock.readers.values() if one.window.samples)
        for reader in who_gives_back((one.holding, one) for one in asking):
            sample = reader.window.samples[-1]
            if sample != wanted and (
                sample not in self._stock.underway or sample in self._stock.unplaced
            ):
                self.give_up(reader)
                return True
        return False
