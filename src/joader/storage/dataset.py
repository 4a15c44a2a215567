"""Any map-style dataset as a storage: one column, `sample`, which is what the dataset returns.

The parts of a sample that is a tuple (or dict) can be named: `columns=["image", "label"]` are then
its items in this order (or its keys). The dataset's code can do anything, so its types are unknown,
and a row takes as long as the dataset's code.
"""

from collections.abc import Sequence
from typing import Any

from joader.errors import BadArgument, BadData, NoData
from joader.storage.storage import Rows, Storage, Values

WHOLE = "sample"


class DatasetStorage(Storage):
    """The samples of a dataset; `key` names its content if that has to be known here."""

    deterministic = False  # its code may be random

    def __init__(
        self, dataset: Any, *, columns: Sequence[str] | None = None, key: str | None = None
    ) -> None:
        """Ask only for its length."""
        self.dataset = dataset
        self.key = key
        self.length = len(dataset)
        if not self.length:
            raise NoData(f"the dataset, a {type(dataset).__name__}, has no rows")
        self.columns = dict.fromkeys([WHOLE] if columns is None else columns)
        self.choose(columns, (WHOLE,))

    def fetch(self, rows: Rows, columns: Sequence[str]) -> list[Values]:
        """Run the dataset's code."""
        numbers = rows.tolist()
        many = getattr(self.dataset, "__getitems__", None)
        samples = many(numbers) if many is not None else [self.dataset[row] for row in numbers]
        if WHOLE in self.columns:
            return [list(samples)]
        return [[self._part(sample, name) for sample in samples] for name in columns]

    def _part(self, sample: Any, name: str) -> Any:
        names = list(self.columns)
        if isinstance(sample, dict) and name in sample:
            return sample[name]
        if isinstance(sample, tuple | list) and len(sample) == len(names):
            return sample[names.index(name)]
        raise BadData(
            f"a sample of {type(self.dataset).__name__} is a {type(sample).__name__} that has no "
            f"part {name!r}; columns name the {len(names)} parts of a tuple, or keys of a dict"
        )

    def identity(self) -> tuple[Any, ...]:
        """Return the key, or else the dataset itself: joader's loader inspects its code."""
        return (self.dataset,) if self.key is None else (self.key,)

    def fingerprint(self) -> str:
        """Return the name of the content, which only the user or the loader can know."""
        if self.key is None:
            raise BadArgument(
                f"what a {type(self.dataset).__name__} returns is known to its code alone; pass "
                "key= to name its content (joader.DataLoader finds a name by itself)"
            )
        return super().fingerprint()
