"""Random samples of every kind, and what it means that one came back the same."""

import dataclasses
import enum
import math
from collections import OrderedDict
from typing import Any, NamedTuple

import hypothesis.extra.numpy as nps
import hypothesis.strategies as st
import numpy as np

try:
    import torch
except ImportError:
    torch = None


class Pair(NamedTuple):
    image: Any
    label: Any


@dataclasses.dataclass
class Item:
    image: Any
    label: Any = 0
    derived: Any = dataclasses.field(init=False, default="none")

    def __post_init__(self) -> None:
        self.derived = "made by init"


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    image: Any
    label: Any


class Colour(enum.IntEnum):
    RED = 1


@dataclasses.dataclass
class WithState:
    """Says itself how it is copied."""

    kept: int
    dropped: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"kept": self.kept, "dropped": None}


class Box:
    """An arbitrary object."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and same(self.content, other.content)

    __hash__ = None


def awkward(array: np.ndarray, way: int) -> np.ndarray:
    """Return an array of the same kind that is Fortran-ordered, strided, reversed or read-only."""
    if array.ndim == 0 or way == 0:
        return array
    if way == 1:
        return np.asfortranarray(array)
    if way == 2:
        return array[::-1]
    if way == 3:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    array.flags.writeable = False
    return array.T


dtypes = st.one_of(
    nps.scalar_dtypes(), nps.array_dtypes(max_size=3), nps.byte_string_dtypes(min_len=1)
)
arrays = st.builds(
    awkward,
    nps.arrays(dtypes, nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)),
    st.integers(0, 4),
)
numbers = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.complex_numbers(),
)
scalars = nps.arrays(nps.scalar_dtypes(), ()).map(lambda array: array[()])
texts = st.one_of(
    st.text(st.characters(codec=None), max_size=80),
    st.binary(max_size=80),
    st.binary(max_size=8).map(bytearray),
)
keys = st.recursive(
    st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.none(), st.floats())
    | st.binary(max_size=3)
    | st.just(Colour.RED),
    lambda inner: st.tuples(inner, inner),
    max_leaves=3,
)
leaves = st.one_of(arrays, numbers, scalars, texts, st.just(Colour.RED), st.builds(Box, numbers))
if torch is not None:

    def shrunk(tensor: Any) -> Any:
        """Return a bfloat16 tensor that is not contiguous."""
        real = tensor.real.bfloat16()
        return real.movedim(0, -1) if real.ndim else real

    tensors = nps.arrays(
        st.sampled_from(["f4", "f8", "i4", "i8", "u1", "?", "c8"]),
        nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ).map(torch.from_numpy)
    leaves = leaves | tensors | tensors.map(shrunk)


def branches(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.lists(st.integers(-9, 9), max_size=9),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(OrderedDict),
        st.builds(Pair, inner, inner),
        st.builds(Item, inner, inner),
        st.builds(Frozen, inner, inner),
    )


trees = st.recursive(leaves, branches, max_leaves=8)


def same_bytes(one: Any, other: Any) -> bool:
    """Compare the bytes of arrays, but for those between fields and inside of long doubles."""
    if one.dtype.names is not None:
        return all(same_bytes(one[name], other[name]) for name in one.dtype.names)
    if one.dtype.type in (np.longdouble, np.clongdouble):
        return np.array_equal(one, other, equal_nan=True)
    return bool(one.tobytes() == other.tobytes())


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are of the same type, dtype, shape and content, NaN included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and same_bytes(one, other)
    if torch is not None and isinstance(one, torch.Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        pair = [torch.empty(one.shape, dtype=one.dtype).copy_(value) for value in (one, other)]
        return torch.equal(*(value.reshape(-1).view(torch.uint8) for value in pair))
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)
