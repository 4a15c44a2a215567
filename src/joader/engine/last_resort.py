"""The last resort if a job's next batch finds no room although no sample is in use.

Shares are checked with the usual size of samples, and sizes differ. So a job may lack room, or
contiguous room, because others have asked for samples that they do not want yet. These give up all
of them and do not ask again until the job has its batch. It is refused only if its batch does not
fit the empty memory.
"""

from joader.engine.preparations import Preparations
from joader.engine.reader import Reader
from joader.engine.room import Room
from joader.engine.stock import Stock
from joader.engine.supply import Supply
from joader.errors import more_memory, size_in_words


class LastResort:
    """Serves jobs that are stuck, one at a time."""

    def __init__(
        self, supply: Supply, stock: Stock, room: Room, preparations: Preparations
    ) -> None:
        """Serve the readers of this stock."""
        self._supply, self._stock, self._room = supply, stock, room
        self._preparations = preparations

    def serve_one(self) -> tuple[bool, tuple[Reader, str] | None]:
        """Tell whether a job was stuck; also return it, with a reason, if it must be refused."""
        readers = self._stock.readers
        busy = any(reader.window.held_count or reader.inspected for reader in readers.values())
        if self._stock.at_work or busy:
            return False, None
        # A job that waits for draws of another node does not lack room.
        waiting = [
            reader
            for reader in readers.values()
            if reader.window.wants and not reader.terms.reads_itself and not reader.starves
        ]
        if not waiting:
            return False, None
        reader = next((reader for reader in waiting if reader.stuck), waiting[0])
        count = min(reader.window.wants[0], len(reader.window.places))
        if reader.stuck:
            return True, (reader, self._reason(reader, count))
        for other in readers.values():
            self._room.give_up_all(other)
        self._stock.drop_all()
        reader.stuck = True
        while len(reader.window.samples) < count and self._supply.ask(reader):
            pass
        self._preparations.place()
        del readers[reader.job]  # it comes last the next time
        readers[reader.job] = reader
        return True, None

    def _reason(self, reader: Reader, count: int) -> str:
        sizes = reader.sizes
        return (
            f"a batch of {count} samples of {size_in_words(sizes.usual_bytes)} to "
            f"{size_in_words(sizes.slot_bytes)} does not fit, and the budget is "
            f"{size_in_words(self._stock.cache.capacity_bytes)}; "
            f"{more_memory(max(reader.share, count) * sizes.slot_bytes)}, or use smaller batches"
        )
