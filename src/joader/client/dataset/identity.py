"""What a loader reads, as a state must agree with it: which dataset, and which rows of it."""

from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.recipe.fingerprint import Outline
from joader.recipe.fingerprint.shorthand import change, shorthand

if TYPE_CHECKING:
    from joader.client.dataset.joined_table import Joined

# In place of a fingerprint, if a dataset holds what cannot be compared; its rows still are.
NOT_COMPARABLE = "not comparable"

See: TypeAlias = Callable[[], tuple[str, Outline]]


class Identity:
    """A dataset by its name, and rows of it by position."""

    def __init__(
        self,
        key: str,
        outline: Outline,
        rows: NDArray[np.integer[Any]],
        table: "Joined | None" = None,
    ) -> None:
        """Take what was seen of the shared part of a job: its name, and what that is made of."""
        self._table = table
        self._rows = rows
        self._see: See = lambda: (key, outline)

    @classmethod
    def to_be_seen(cls, see: See, rows: NDArray[np.integer[Any]]) -> "Identity":
        """Return one for which a dataset is only looked at if somebody asks."""
        identity = cls("", [], rows)
        identity._see = see
        return identity

    @cached_property
    def _seen(self) -> tuple[str, Outline]:
        return self._see()

    @property
    def key(self) -> str:
        """What the dataset is called."""
        return self._seen[0]

    @property
    def outline(self) -> Outline:
        """What its name is made of."""
        return self._seen[1]

    @property
    def length(self) -> int:
        """How many positions there are."""
        return int(self._rows.size)

    @cached_property
    def _digest(self) -> str:
        """Which rows the positions stand for."""
        return blake2b(self._rows.astype("<i8").tobytes(), digest_size=8).hexdigest()

    @cached_property
    def _shorthand(self) -> str:
        return shorthand(self.outline)

    def state(self) -> dict[str, Any]:
        """Return what a state keeps of it."""
        table = {"table": self._table.state()} if self._table else {}
        return {
            **table,
            "fingerprint": self.key,
            "outline": self._shorthand,
            "length": self.length,
            "rows": self._digest,
        }

    def check(self, state: dict[str, Any]) -> None:
        """Raise BadArgument, with what has changed, if a state is of something else."""
        if self._table is not None:
            self._table.check(state.get("table"))
        if state["length"] != self.length:
            raise BadArgument(
                f"the state is of a dataset of {state['length']} positions, this one has "
                f"{self.length}; a pass cannot go on in another dataset"
            )
        keys = {state["fingerprint"], self.key}
        if len(keys) > 1 and NOT_COMPARABLE not in keys:
            raise BadArgument(
                f"the state is of another dataset: {self._change(state)}. If it is the same data "
                f"nevertheless, make the loader with key={state['fingerprint']!r}"
            )
        if state["rows"] != self._digest:
            raise BadArgument(
                "the state is of other rows of this dataset: the positions of a subset have "
                "changed since (random_split without a fixed generator draws others each time)"
            )

    def _change(self, state: dict[str, Any]) -> str:
        if not self.outline or not state["outline"]:
            return f"it was {state['fingerprint']!r}, this one is {self.key!r}"
        found = change(state["outline"], self.outline)
        return found or "its code or data have changed since"
