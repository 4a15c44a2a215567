"""A dataset seen as rows of a base: nests of Subset and ConcatDataset are taken off.

Two jobs on different subsets of one dataset can share only if both speak of the rows of that
dataset. `unwrap` finds it below any nest of torch's `Subset`, `random_split` and `ConcatDataset`,
and says for each position of the job's dataset which row of the base it is. Several bases become
one `Concatenated`, which holds every base of the nest, also those no position leads to: two subsets
of one ConcatDataset have the same base whichever parts they use.

A table of the catalog, or a view of one, is seen as rows of the whole table by number, whatever its
version and predicate; a choice of rows of a Hugging Face dataset, as rows of its files.

Only exactly these torch types are taken off: a subclass may do anything in `__getitem__`, so it is
a base like any other dataset. So is a Subset that cannot be written as row numbers (string keys,
or a dataset below it without a length). torch is never imported here: who holds a Subset has
imported it.
Not here: whether two jobs' bases are the same (fingerprint).

What keeps a dataset from being shared sample by sample.

Torch's loader reads more than datasets with rows: streams, keys of any kind, whole batches at once.
None of that can be drawn, or prepared once for several jobs. It is not refused: torch's own loader
reads it (reading/torch_inside.py), and this says why.
"""

import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from joader.client.dataset.kinds import is_of_hugging_face, is_table, is_view
from joader.errors import BadArgument
from joader.sampling.rows import ROW_LIMIT
from joader.storage import Storage


def obstacle_to_sharing(dataset: Any, batch_size: int | None, chosen: Any) -> str:
    """Say why a dataset cannot be shared sample by sample; "" if it can.

    `chosen` is the sampler or batch sampler that the user gave.
    """
    kind = type(dataset).__name__
    stream = getattr(sys.modules.get("torch.utils.data.dataset"), "IterableDataset", None)
    if stream is not None and isinstance(dataset, stream):
        return f"the dataset is a {kind}, which is read from front to end"
    if not hasattr(type(dataset), "__getitem__"):
        return f"the dataset is a {kind}, which has no rows"
    batches = getattr(sys.modules.get("torch.utils.data.sampler"), "BatchSampler", None)
    if batch_size is None and batches is not None and isinstance(chosen, batches):
        return "with batch_size=None the sampler gives whole batches of keys"
    if isinstance(dataset, Mapping) and any(key not in dataset for key in range(len(dataset))):
        return f"the dataset is a {kind} whose keys are not 0 to {len(dataset) - 1}"
    if not hasattr(type(dataset), "__len__") and chosen is not None:
        return f"the dataset is a {kind} without a length"
    if isinstance(chosen, list | tuple) and _has_other_keys(chosen, len(dataset)):
        return "the sampler gives keys that are not row numbers"
    if batch_size is not None and _gives_batches(dataset):
        return f"the dataset is a {kind} whose __getitems__ gives whole batches"
    return ""


def _has_other_keys(chosen: Sequence[Any], length: int) -> bool:
    """Tell whether a list of keys, or of batches of them, has others than the dataset's rows."""
    keys = [k for key in chosen for k in (key if isinstance(key, list | tuple) else [key])]
    return any(isinstance(key, int) and not -length <= key < length for key in keys)


def _gives_batches(dataset: Any) -> bool:
    """Tell whether torch would ask a dataset for whole batches, which may differ from its rows."""
    # torch's Subset has a __getitems__ too, which passes on to what it wraps.
    while type(dataset).__module__ == "torch.utils.data.dataset" and hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    if isinstance(dataset, Storage) or is_table(dataset) or is_view(dataset):
        return False
    if is_of_hugging_face(
        dataset
    ):  # rows of a Hugging Face dataset, unless a function sees the batch
        return bool(getattr(dataset, "_format_type", None) == "custom")
    return callable(getattr(type(dataset), "__getitems__", None))


Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Unwrapped:
    """Say of which dataset a job reads rows, and which row each position is."""

    base: Any
    rows: Rows  # by position; a row may come twice


class Concatenated:
    """Several datasets as one: the rows of each part follow those of the part before."""

    def __init__(self, parts: Sequence[Any]) -> None:
        """Put these datasets one after the other."""
        self.parts = tuple(parts)
        self.ends = list(accumulate(len(part) for part in self.parts))

    def __len__(self) -> int:
        """Count the rows of all parts."""
        return self.ends[-1] if self.ends else 0

    def __getitem__(self, row: int) -> Any:
        """Return a sample of the part this row lies in."""
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of a dataset of {len(self)} rows")
        number = bisect_right(self.ends, row)
        return self.parts[number][row - (self.ends[number - 1] if number else 0)]


def unwrap(dataset: Any, *, key_of: Callable[[Any], str] | None = None) -> Unwrapped:
    """Find the base of a dataset, and the row of it that each position is.

    Several bases are in the order in which the nest names them, one object once. With `key_of`
    they are in the order of their keys and equal keys are one base, so that `a + b` and `b + a`
    have one base in every job.
    """
    nest = _Nest()
    rows = nest.rows(dataset, None, "dataset")
    parts = nest.parts
    if key_of is not None and len(parts) > 1:
        parts, rows = _by_key(parts, nest.starts, [key_of(part) for part in parts], rows)
    if len(parts) == 1:
        return Unwrapped(parts[0], rows)
    return Unwrapped(_joined(parts), rows)


def _joined(parts: list[Any]) -> Any:
    """Return several bases as one: storages that read alike as a storage."""
    if all(isinstance(part, Storage) for part in parts):
        from joader.storage.concatenation import Concatenation, joins

        if joins(parts):
            return Concatenation(parts)
    return Concatenated(parts)


def _whole(dataset: Any) -> tuple[Any, Rows] | None:
    """Return what a storage or a Hugging Face dataset is a choice of rows of, if of any."""
    if isinstance(dataset, Storage):
        return dataset.whole()
    if is_of_hugging_face(dataset):
        from joader.storage.hugging_face import whole_dataset

        return whole_dataset(dataset)
    return None


class _Absent:
    """Stands for a class of torch while torch is not loaded: nothing is of it."""


class _Nest:
    """The bases found so far, each with its first row in the concatenation of all."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.starts: list[int] = []
        self._numbers: dict[int, int] = {}  # id of a base, which `parts` keeps alive
        self._size = 0

    def rows(self, dataset: Any, positions: Rows | None, path: str) -> Rows:
        """Return the rows of these positions (None: of all), as an array of its own."""
        if _is_torch(dataset, "Subset"):
            indices = _indices(dataset, path)
            if indices is not None:
                inner = indices if positions is None else indices[positions]
                return self.rows(dataset.dataset, inner, f"{path}.dataset")
        elif _is_torch(dataset, "ConcatDataset"):
            return self._concat_rows(dataset, positions, path)
        elif is_table(dataset) or is_view(dataset):
            view = dataset.view() if is_table(dataset) else dataset
            rows = view.rows.copy() if positions is None else view.rows[positions]
            return self._base_rows(view.base, rows, path)
        whole = _whole(dataset)
        if whole is not None:
            dataset, rows = whole
            positions = rows if positions is None else rows[positions]
        return self._base_rows(dataset, positions, path)

    def _concat_rows(self, dataset: Any, positions: Rows | None, path: str) -> Rows:
        names = [f"{path}.datasets[{number}]" for number in range(len(dataset.datasets))]
        sizes = list(map(_length, dataset.datasets, names))
        ends = list(accumulate(sizes))
        if ends != list(dataset.cumulative_sizes):
            raise BadArgument(
                f"{path} was made of parts that ended at rows {dataset.cumulative_sizes}, and now "
                f"they end at {ends}; make the ConcatDataset again after changing a part"
            )
        if positions is None:
            parts = map(self.rows, dataset.datasets, [None] * len(sizes), names)
            return np.concatenate([np.zeros(0, np.int64), *parts])
        which = np.searchsorted(ends, positions, side="right").astype(np.uint32)
        # NumPy sorts 16-bit numbers by radix, ten times as fast.
        order = np.argsort(which.astype(np.uint16) if len(ends) < 2**16 else which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(ends) + 1))
        rows = np.empty_like(positions)
        for number, part in enumerate(dataset.datasets):
            at = order[bounds[number] : bounds[number + 1]]
            inner = positions[at] - (ends[number] - sizes[number])
            rows[at] = self.rows(part, inner, names[number])
        return rows

    def _base_rows(self, dataset: Any, positions: Rows | None, path: str) -> Rows:
        _refuse_stream(dataset, path)
        size = _length(dataset, path)
        number = self._numbers.setdefault(id(dataset), len(self.parts))
        if number == len(self.parts):
            self.parts.append(dataset)
            self.starts.append(self._size)
            self._size += size
        rows = np.arange(size, dtype=np.int64) if positions is None else positions
        return rows + self.starts[number] if self.starts[number] else rows


def _is_torch(dataset: Any, name: str) -> bool:
    """Tell whether this is exactly the torch class of this name, not a subclass."""
    return type(dataset) is getattr(sys.modules.get("torch.utils.data.dataset"), name, _Absent)


def _name(dataset: Any) -> str:
    return f"{type(dataset).__module__}.{type(dataset).__qualname__}"


def _refuse_stream(dataset: Any, path: str) -> None:
    stream = getattr(sys.modules.get("torch.utils.data.dataset"), "IterableDataset", _Absent)
    if isinstance(dataset, stream) or not hasattr(type(dataset), "__getitem__"):
        raise BadArgument(
            f"{path} is a {_name(dataset)}, which is read from front to end and has no rows that "
            "could be drawn or shared; give a map-style dataset (with __len__ and __getitem__), or "
            "keep torch.utils.data.DataLoader for this one"
        )


def _length(dataset: Any, path: str) -> int:
    try:
        length = len(dataset)
    except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
        raise BadArgument(
            f"{path} is a {_name(dataset)} whose length is unknown: {error}; define __len__ to "
            "return its number of rows (0 is allowed)"
        ) from error
    if length > ROW_LIMIT:
        raise BadArgument(
            f"{path} is a {_name(dataset)} of {length} rows; at most {ROW_LIMIT} can be read"
        )
    return length


def _indices(subset: Any, path: str) -> Rows | None:
    """Return a Subset's indices as rows of the dataset below; None if they are not row numbers."""
    if not hasattr(type(subset.dataset), "__len__"):
        _refuse_stream(subset.dataset, f"{path}.dataset")
        return None
    indices = _integers(subset.indices)
    if indices is None:
        return None
    size = _length(subset.dataset, f"{path}.dataset")
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        first = int(wrong.argmax())
        allowed = f"from {-size} to {size - 1}" if size else "none"
        raise BadArgument(
            f"{path}.indices[{first}] is {indices[first]}, but the {_name(subset.dataset)} below "
            f"has {size} rows; indices allowed: {allowed}"
        )
    rows = np.array(indices, np.int64)  # never the user's own array
    rows[rows < 0] += size
    return rows


def _integers(indices: Any) -> npt.NDArray[Any] | None:
    """Return what indexing `indices` with 0, 1, 2, … gives, if these are all integers."""
    kind = type(indices)
    if kind is range:
        return np.arange(indices.start, indices.stop, indices.step)
    if kind is getattr(sys.modules.get("torch"), "Tensor", _Absent):
        whole = not (indices.is_floating_point() or indices.is_complex())
        return _integers(indices.detach().cpu().numpy()) if whole else None
    if kind is np.ndarray or kind is np.memmap:
        return indices if indices.ndim == 1 and indices.dtype.kind in "iu" else None
    # Three times as fast as np.array for scattered ints, and a float is an error instead of cut.
    try:
        exact = kind is list or kind is tuple
        values = indices if exact else map(indices.__getitem__, range(len(indices)))
        return np.asarray(array("q", values))
    except (TypeError, ValueError, KeyError, IndexError):
        return None
    except OverflowError as error:
        raise BadArgument(
            "a Subset has an index that does not fit into 64 bits; give row numbers"
        ) from error


def _by_key(
    parts: list[Any], starts: list[int], keys: list[str], rows: Rows
) -> tuple[list[Any], Rows]:
    """Put the bases in the order of their keys, each key once, and number the rows anew."""
    first: dict[str, Any] = {}
    for key, part in zip(keys, parts, strict=True):
        if len(first.setdefault(key, part)) != len(part):
            raise BadArgument(
                f"two datasets have the key {key!r}, one of {len(first[key])} rows and one of "
                f"{len(part)}; give datasets that differ different keys"
            )
    ordered = sorted(first)
    sizes = [len(first[key]) for key in ordered]
    new_starts = dict(zip(ordered, accumulate(sizes, initial=0), strict=False))
    shifts = np.array([new_starts[key] for key in keys], np.int64) - starts
    # An empty part starts where the next one does; "right" finds the last of them, which has rows.
    which = np.searchsorted(starts, rows, side="right") - 1
    return [first[key] for key in ordered], rows + shifts[which]
