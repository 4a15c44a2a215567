"""Rows as they are stored: read, or taken from memory, and kept for others that prepare them.

If a dataset reads rows apart from preparing them, as joader's own storages do, a row need not be
read again for another way to prepare it: its *raw form* may lie in the arena. And a worker that has
read a row can leave its raw form there. It does so as with a sample that has no slot yet: it keeps
it, says how large it is together with the row's report, and is told where to write it, or that
nobody wants it.

Not here: which raw forms are worth their memory (cache/two_forms.py).
"""

import time
from collections.abc import Mapping
from typing import Any

from joader.memory import Arena, Layout, Parcel, pack, read
from joader.recipe.parts import SharedPart
from joader.schedule.work.orders import Row
from joader.workers.outbox import Outbox


class RawForms:
    """The rows that one worker reads."""

    def __init__(self, arena: Arena, shared: SharedPart, outbox: Outbox) -> None:
        """Read for this recipe; say how long that took with the reports of rows."""
        self._arena, self._shared, self._outbox = arena, shared, outbox
        self._kept: dict[int, tuple[int, Parcel]] = {}  # by sample, with their own numbers

    def value(self, order: Row, read_before: Mapping[int, Any]) -> Any:
        """Return a row as it is stored, and keep it if that was asked for."""
        if order.raw_offset >= 0:
            layout = Layout.from_bytes(order.raw_layout)
            slot = self._arena.slot(order.raw_offset, layout.size_bytes)
            return read(layout, slot, allow_pickle=True, lent=self._shared.steps.built_in)
        if order.sample in read_before:
            value = read_before[order.sample]
        else:
            begun = time.monotonic()
            value = self._shared.row(order.row)
            self._outbox.read(time.monotonic() - begun, 1)
        if order.keeps_raw:
            # A step of the user's may change in place what it gets, a dataset what it has given.
            self._kept[order.sample] = order.raw, pack(value).kept()
        return value

    def report(self, sample: int, unplaced: dict[int, Parcel]) -> tuple[int, ...]:
        """Have the raw form of a sample, if it was kept, wait for its slot; return its size."""
        if sample not in self._kept:
            return ()
        raw, parcel = self._kept.pop(sample)
        unplaced[raw] = parcel
        return (max(1, parcel.layout.size_bytes),)

    def forget(self, sample: int) -> None:
        """Let go of what was kept of a sample that will not be reported."""
        self._kept.pop(sample, None)
