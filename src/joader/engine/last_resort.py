"""What is left to do when a job's next batch finds no room though nothing is in use.

Shares are checked with the usual size of samples, and sizes differ. So a job may lack room, or room
in one piece, that others have asked for and do not want yet. All is given up for it, nobody else
asks until it has its batch, and it is refused only if what it wants does not fit the empty memory.
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
        """Tell whether a job was stuck; return it, and why, if it can have nothing at all."""
        readers = self._stock.readers
        busy = any(reader.window.held_count or reader.inspected for reader in readers.values())
        if self._stock.at_work or busy:
            return False, None
        # Who waits for another node's draws lacks no room.
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
