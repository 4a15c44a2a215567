"""Element types to names and back."""

import numpy as np
import pytest

from joader.memory.dtypes import TENSOR_ITEM_BYTES, dtype_of, name_of, tensor_name_of

PLAIN = ["<f4", ">i2", "<M8[ns]", "<U7", "|S3", "|b1", "<c16", "<m8[ms]", "|V5"]


@pytest.mark.parametrize("name", PLAIN)
def test_a_type_comes_back_from_its_name(name: str) -> None:
    dtype = np.dtype(name)
    found = name_of(dtype)
    assert found is not None
    assert dtype_of(found) == dtype


def test_a_structured_type_comes_back_with_its_fields_and_shapes() -> None:
    dtype = np.dtype([("x", "<f4", (2, 3)), ("y", [("z", ">i8")])])
    found = name_of(dtype)
    assert found is not None
    assert dtype_of(found) == dtype


@pytest.mark.parametrize("dtype", [np.dtype(object), np.dtype("U0"), np.dtype([("a", object)])])
def test_types_that_would_not_come_back_have_no_name(dtype: np.dtype) -> None:  # type: ignore[type-arg]
    assert name_of(dtype) is None


@pytest.mark.parametrize("name", ["|O", "[('a', '|O')]"])
def test_pointers_are_refused_whoever_names_them(name: str) -> None:
    with pytest.raises(ValueError, match="meaningless in another process"):
        dtype_of(name)


def test_torch_has_numbers_in_native_order_only() -> None:
    assert tensor_name_of("<f4") == "float32"
    assert tensor_name_of(">f4") is None
    assert tensor_name_of("<U7") is None


def test_sizes_of_tensor_elements_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    known = {name: getattr(torch, name, None) for name in TENSOR_ITEM_BYTES}
    sizes = {name: dtype.itemsize for name, dtype in known.items() if dtype is not None}
    assert sizes == {name: TENSOR_ITEM_BYTES[name] for name in sizes}
    assert len(sizes) > 10
