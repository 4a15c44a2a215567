"""What of a slot is the sample."""

import numpy as np

from joader.memory import pack
from joader.memory.contents import contents, digest


def in_slot(sample: object, filled_with: int) -> tuple[bytes, np.ndarray]:
    parcel = pack(sample)
    slot = np.full(parcel.layout.size_bytes + 128, filled_with, np.uint8)
    parcel.write(slot)
    return parcel.layout.to_bytes(), slot[: parcel.layout.size_bytes]


def test_what_lay_in_the_slot_before_does_not_count() -> None:
    sample = (7, np.arange(100, dtype=np.uint8), "a name", {"more": b"x" * 100})
    assert digest(*in_slot(sample, 0)) == digest(*in_slot(sample, 255))


def test_every_leaf_counts() -> None:
    before = digest(*in_slot((7, "a name", np.arange(100)), 0))
    for other in ((8, "a name", np.arange(100)), (7, "b name", np.arange(100))):
        assert digest(*in_slot(other, 0)) != before
    changed = np.arange(100)
    changed[-1] = 0
    assert digest(*in_slot((7, "a name", changed), 0)) != before
    assert digest(*in_slot((7, "a name", np.arange(100.0)), 0)) != before


def test_contents_are_the_leaves_in_order() -> None:
    parcel = pack((7, "abc", np.arange(70, dtype=np.uint8)))
    slot = np.full(parcel.layout.size_bytes, 9, np.uint8)
    parcel.write(slot)
    found = [part.tobytes() for part in contents(parcel.layout, slot)]
    assert found[0] == (7).to_bytes(8, "little")
    assert found[1] == (3).to_bytes(8, "little") + b"abc"
    assert found[2] == bytes(range(70))
