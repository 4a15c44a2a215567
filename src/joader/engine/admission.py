"""From `Join` to reading: which events are refused, what is compared first, who is admitted.

In the order in which a job meets them: `check_join` and `check_want` refuse what no job can mean,
before anything is made of it; `Inspection` has the workers of a job compare a few rows before it
takes what other jobs of its recipe have prepared; `admit` lets in the jobs whose share fits next to
the shares of those before them, once the size of samples is known.
"""

from collections.abc import Iterator, Mapping

from joader.cache import READY, Cache, round_up
from joader.engine.limits import Limits
from joader.engine.plan import Told
from joader.engine.reader import Reader
from joader.engine.recipes import MOST_ROWS, Recipe
from joader.engine.stock import Stock
from joader.errors import BadArgument, more_memory, size_in_words
from joader.messages import Compare, Job, Join, Want

ORDERS = ("shared", "joint", "seeded", "given", "told")
MOST_RANKS = 1 << 16
# Larger batches are refused before they are planned, not when the size of samples is known.
LARGE_BATCH = 1 << 20
# Positions that a job may have asked for and not got, beyond one batch: 100 bytes each.
MOST_TOLD = 1 << 22


def check_join(event: Join, limits: Limits, cache: Cache) -> None:
    """Refuse what no job can mean, before anything is made of it."""
    if event.batch_size < 1:
        raise BadArgument(f"batch_size={event.batch_size} is too small; use 1 or more")
    if event.order not in ORDERS:
        raise BadArgument(f"order={event.order!r} is unknown; use one of {', '.join(ORDERS)}")
    if event.seed is not None and event.seed < 0:
        raise BadArgument(f"seed={event.seed} is negative; use an integer >= 0")
    if not 0 <= event.row_limit <= MOST_ROWS:
        raise BadArgument(
            f"a dataset of {event.row_limit} rows is not supported; use 0 to {MOST_ROWS} rows"
        )
    if not 1 <= event.world_size <= MOST_RANKS:
        raise BadArgument(f"world_size={event.world_size} is not supported; use 1 to {MOST_RANKS}")
    batch = event.batch_size if event.order == "told" else min(event.batch_size, event.rows.size)
    least_bytes = limits.share_batches * round_up(1) * batch
    if batch > LARGE_BATCH and least_bytes > cache.capacity_bytes:
        raise BadArgument(
            f"two batches of {batch} samples take {size_in_words(least_bytes)} at least, and the "
            f"budget is {size_in_words(cache.capacity_bytes)}; {more_memory(least_bytes)}, or use "
            "smaller batches"
        )


def check_want(event: Want, reader: Reader) -> None:
    """Refuse a request that cannot be answered."""
    if not 1 <= event.count <= reader.batch_size:
        raise BadArgument(
            f"job {event.job} wants {event.count} samples; it may want 1 to its batch size, "
            f"{reader.batch_size}"
        )
    if not reader.in_pass:
        raise BadArgument(f"job {event.job} wants samples before it began a pass")
    if not isinstance(reader.plan, Told) or reader.lead is not None:
        return
    if event.positions is None or event.positions.size != event.count:
        raise BadArgument(f"job {event.job} did not say which {event.count} it wants")
    ahead = reader.window.wanted + event.count
    if reader.window.wanted and ahead > MOST_TOLD:
        raise BadArgument(
            f"job {event.job} wants {ahead} samples ahead; at most {MOST_TOLD}, or a batch"
        )
    times = event.times
    if times is not None and (times.size != event.count or int(times.min()) < 0):
        raise BadArgument(f"job {event.job} did not say how often each of them came before")


def admit(
    recipe: Recipe, readers: Mapping[Job, Reader], capacity_bytes: int
) -> Iterator[tuple[Reader, str]]:
    """Admit the recipe's new jobs and yield each, with a reason if it must be refused.

    The caller must remove a refused job before it asks for the next one.
    """
    for reader in list(readers.values()):
        if reader.recipe is not recipe or reader.admitted or not reader.sizes.slot_bytes:
            continue
        others = sum(one.share_bytes for one in readers.values() if one.admitted)
        if others + reader.share_bytes <= capacity_bytes:
            reader.admitted = True
            yield reader, ""
            continue
        yield (
            reader,
            f"job {reader.job} needs {size_in_words(reader.share_bytes)}, two batches of "
            f"{reader.batch_size} samples of {size_in_words(reader.sizes.usual_bytes)}, next to "
            f"{size_in_words(others)} of the jobs before it, and the budget is "
            f"{size_in_words(capacity_bytes)}; {more_memory(others + reader.share_bytes)}, or use "
            "smaller batches",
        )


# Rows that a job's workers compare before it takes what others have prepared.
INSPECTED = 3


class Inspection:
    """Comparisons that jobs wait for."""

    def __init__(self, stock: Stock) -> None:
        """Compare samples of this stock."""
        self._stock = stock

    def begin(self, reader: Reader) -> None:
        """Have a job's workers compare a few ready rows; the job waits for the outcome."""
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
        """Release a sample that a job's worker has compared."""
        if sample in reader.inspected:
            reader.inspected.remove(sample)
            self._stock.cache.release(sample)

    def give_up(self, reader: Reader) -> None:
        """Release all that a job's workers compare: it leaves, perhaps before they were told."""
        unsaid = self._stock.out
        unsaid[:] = [
            one for one in unsaid if not (isinstance(one, Compare) and one.job == reader.job)
        ]
        for sample in list(reader.inspected):
            self.end(reader, sample)
