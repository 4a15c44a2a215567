"""What a job has in common with others whose datasets overlap with its own.

Its *pieces* are what its dataset consists of, each named by its content; its *ground* names how a
row of any piece is read and prepared. The daemon lets jobs of one ground share the rows of pieces
that they have in common (engine/pieces.py): a folder and its sub-folder, some shards and others,
choices of rows of a Hugging Face dataset.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from joader.client.dataset.kinds import is_of_hugging_face
from joader.images import Steps
from joader.recipe.fingerprint import fingerprint
from joader.recipe.parts import SharedPart
from joader.storage import Storage


@dataclass(frozen=True)
class Ground:
    """How rows are prepared, and the pieces they are of; without any, a job shares as a whole."""

    name: str = ""
    pieces: Sequence[tuple[str, int]] = ()
    stored: str = ""  # how they are read only; empty: that is not apart, or nothing else is done


NO_GROUND = Ground()


def ground_of(shared: SharedPart) -> Ground:
    """Look at what a job's dataset consists of."""
    dataset = shared.dataset
    pieces: list[tuple[str, int]] | None = None
    rest: Any = None
    if isinstance(dataset, Storage):
        pieces, rest = dataset.pieces(), dataset.reads_as()
    elif is_of_hugging_face(dataset):
        from joader.storage.hugging_face import files_of_dataset

        pieces = files_of_dataset(dataset)
        rest = copy.copy(dataset)
        rest._data, rest._fingerprint = None, ""
    if not pieces:
        return NO_GROUND
    stored = ""
    if shared.reads_apart:
        stored = fingerprint(replace(shared, dataset=rest, steps=Steps(())))
    return Ground(fingerprint(replace(shared, dataset=rest)), pieces, stored)
