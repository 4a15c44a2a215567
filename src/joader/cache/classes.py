"""Slots of how many bytes there are, so that one that is left serves the next."""

from functools import lru_cache

from joader.errors import BadArgument

# A cache line, and the stride of a gather over slots of the shared arena (memory/rows.py).
UNIT_BYTES = 64
# Steps between a power of two and the next: what a slot has beyond its sample is a ninth at most.
_STEPS = 8


def round_up(size_bytes: int) -> int:
    """Return the bytes a sample takes: the next multiple of 64, and one unit if it is empty."""
    if size_bytes < 0:
        raise BadArgument(f"a sample cannot have {size_bytes} bytes; give 0 or more")
    return max(UNIT_BYTES, size_bytes + UNIT_BYTES - 1 & -UNIT_BYTES)


# Sizes come again, and each sample of a dataset of many sizes asks.
@lru_cache(maxsize=1 << 15)
def class_bytes(size_bytes: int) -> int:
    """Return the size of slots for samples that differ in size: a step between powers of two."""
    size = round_up(size_bytes)
    step = max(UNIT_BYTES, (1 << size.bit_length() - 1) // _STEPS)
    return -(-size // step) * step
