"""Jobs of one recipe that first meet: a few rows are compared before one takes what others made."""

from joader.cache import READY
from joader.engine.reader import Reader
from joader.engine.stock import Stock
from joader.messages import Compare

# Rows that a job's workers compare before it takes what others have prepared.
INSPECTED = 3


class Inspection:
    """Comparisons that jobs wait for."""

    def __init__(self, stock: Stock) -> None:
        """Compare what is in this stock."""
        self._stock = stock

    def begin(self, reader: Reader) -> None:
        """Have a job's workers compare a few rows that are here; the job waits for the outcome."""
        table, recipe = self._stock.table, reader.recipe
        for sample in table.everyone().tolist():
            if len(reader.inspected) == INSPECTED:
                break
            row = table.home.cells[sample] - recipe.base
            ready = table.state.cells[sample] == READY and not table.own.cells[sample]
            if ready and 0 <= row < recipe.row_limit and reader.rows.has(row):
                reader.inspected.add(sample)
        for sample in reader.inspected:
            self._stock.cache.lease(sample)
            key, position, times = self._stock.start_of(sample)
            self._stock.out.append(
                Compare(
                    reader.job,
                    sample,
                    recipe.name,
                    row=table.home.cells[sample] - recipe.base,
                    offset=table.offset.cells[sample],
                    key=key,
                    position=position,
                    times=times,
                    fresh=reader.terms.fresh,
                )
            )

    def end(self, reader: Reader, sample: int) -> None:
        """Let go of a row that a job's worker has compared."""
        if sample in reader.inspected:
            reader.inspected.remove(sample)
            self._stock.cache.release(sample)

    def give_up(self, reader: Reader) -> None:
        """Let go of all that a job's workers compare: it leaves, perhaps before they were told."""
        unsaid = self._stock.out
        unsaid[:] = [
            one for one in unsaid if not (isinstance(one, Compare) and one.job == reader.job)
        ]
        for sample in list(reader.inspected):
            self.end(reader, sample)
