"""Orders of one row, as tests write them."""

from joader.messages import Finish, Prepare


def prepare(sample: int, row: int, offset: int, size_bytes: int, key: int = 0) -> Prepare:
    return Prepare(
        "recipe",
        1,
        key,
        samples=(sample,),
        rows=(row,),
        positions=(0,),
        times=(0,),
        offsets=(offset,),
        sizes=(size_bytes,),
    )


def chunk(*rows: int, slot_bytes: int = 64) -> Prepare:
    """Return an order for several rows: sample and slot have the row's number."""
    return Prepare(
        "recipe",
        1,
        0,
        samples=rows,
        rows=rows,
        positions=rows,
        times=(0,) * len(rows),
        offsets=tuple(slot_bytes * row for row in rows),
        sizes=(slot_bytes,) * len(rows),
    )


def finish(sample: int, source: int, offset: int, size_bytes: int, job: int = 1) -> Finish:
    """Return an own part of a sample that is still in the worker's hands."""
    return Finish(
        job,
        7,
        samples=(sample,),
        sources=(source,),
        source_offsets=(-1,),
        positions=(0,),
        times=(0,),
        offsets=(offset,),
        sizes=(size_bytes,),
        layouts=(b"",),
    )
