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
