"""What no job can mean, refused before anything is made of it."""

from joader.cache import Cache, round_up
from joader.engine.limits import Limits
from joader.engine.plan import Told
from joader.engine.reader import Reader
from joader.engine.recipes import MOST_ROWS
from joader.errors import BadArgument, more_memory, size_in_words
from joader.messages import Join, Want

ORDERS = ("shared", "joint", "seeded", "given", "told")
MOST_RANKS = 1 << 16
# Larger batches are refused before they are planned, not when the size of samples is known.
LARGE_BATCH = 1 << 20
# Positions that a job may have told and not got, beyond one batch: each takes about 100 bytes here.
MOST_TOLD = 1 << 22


def check_join(event: Join, limits: Limits, cache: Cache) -> None:
    """Refuse what no job can mean, before anything is made of it."""
    if event.batch_size < 1:
        raise BadArgument(f"batch size is {event.batch_size}; it is at least 1")
    if event.order not in ORDERS:
        raise BadArgument(f"order is {event.order!r}; there are {', '.join(ORDERS)}")
    if event.seed is not None and event.seed < 0:
        raise BadArgument(f"seed is {event.seed}; a seed is an integer >= 0")
    if not 0 <= event.row_limit <= MOST_ROWS:
        raise BadArgument(
            f"a dataset of {event.row_limit} rows; at least 0 and at most {MOST_ROWS} are supported"
        )
    if not 1 <= event.world_size <= MOST_RANKS:
        raise BadArgument(f"{event.world_size} ranks; at least 1 and at most {MOST_RANKS}")
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
            f"job {event.job} wants {event.count} samples; it is at least 1 and at most its "
            f"batch size, {reader.batch_size}"
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
