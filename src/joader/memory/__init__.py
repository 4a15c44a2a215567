"""Prepared bytes, shared between processes: one arena, samples in slots, private batches.

Reading order: `arena` (the memory itself), `layout` (how one sample lies in its slot), `parcel` (a
sample into a slot, one copy), `sample` (a slot back into a private sample), `gather` (slots into a
batch, one native call per leaf), `ring` (output buffers that are reused). Also: `dtypes` and
`classes` (types to names and back), `contents` (a slot's leaves without gaps), `rows` (the copy of
a gather), `pictures` (PIL images), `objects` (the only user of pickle), `extras` (torch and PIL,
not imported before they are needed).

Invariants: a writer writes only inside the slot it was given; a client can only read the arena;
what a user gets shares no byte with it.
Not here: which byte ranges are free and who may use them (cache/runs.py, engine/), sockets.
"""

from joader.memory.arena import Arena
from joader.memory.classes import CannotTravel
from joader.memory.gather import Batch, gather
from joader.memory.layout import Layout
from joader.memory.parcel import Parcel, pack
from joader.memory.ring import Ring
from joader.memory.sample import read

__all__ = ["Arena", "Batch", "CannotTravel", "Layout", "Parcel", "Ring", "gather", "pack", "read"]
