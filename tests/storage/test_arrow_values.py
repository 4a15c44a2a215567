"""Values out of Arrow arrays are those that Arrow itself would give, sliced or not."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

pa = pytest.importorskip("pyarrow")

from joader.storage.arrow_values import taker, type_name  # noqa: E402

VALUES: dict[Any, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(max_size=5),
    pa.large_string(): st.text(max_size=5),
    pa.binary(): st.binary(max_size=5),
    pa.large_binary(): st.binary(max_size=5),
    pa.dictionary(pa.int8(), pa.string()): st.sampled_from(["a", "b", ""]),
    pa.list_(pa.int32()): st.lists(st.integers(-5, 5), max_size=3),
    pa.large_list(pa.float32()): st.lists(st.integers(-5, 5).map(float), max_size=3),
    pa.list_(pa.int16(), 2): st.lists(st.integers(-5, 5), min_size=2, max_size=2),
    pa.list_(pa.string()): st.lists(st.text(max_size=3), max_size=3),
    pa.date32(): st.dates(),
    pa.struct({"x": pa.int8()}): st.fixed_dictionaries({"x": st.integers(0, 9)}),
}
IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def plain(value: Any) -> Any:
    """Return a value as Arrow gives it: NumPy's numbers and arrays as Python's."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


@pytest.mark.parametrize("kind", VALUES, ids=str)
@pytest.mark.parametrize("missing", [False, True])
@given(data=st.data())
def test_one_and_many_are_what_arrow_says(kind: Any, missing: bool, data: st.DataObject) -> None:
    one = st.none() | VALUES[kind] if missing else VALUES[kind]
    values = data.draw(st.lists(one, min_size=1, max_size=8))
    begin = data.draw(st.integers(0, len(values) - 1))
    array = pa.array(values, kind)[begin:]
    found = taker(array)
    wanted = array.to_pylist()
    assert [plain(found.one(place)) for place in range(len(array))] == wanted
    places = data.draw(st.lists(st.integers(0, len(array) - 1), max_size=6))
    many = found.many(np.array(places, np.intp))
    assert [plain(value) for value in many] == [wanted[place] for place in places]


@given(data=st.lists(st.tuples(st.binary(max_size=4), st.none() | st.text(max_size=3)), min_size=2))
def test_an_image_of_hugging_face_is_its_bytes(data: list[tuple[bytes, str | None]]) -> None:
    rows = [{"bytes": body, "path": path} for body, path in data]
    array = pa.array(rows, IMAGE)[1:]
    assert type_name(IMAGE) == "bytes"
    assert [taker(array).one(place) for place in range(len(array))] == [b for b, _ in data[1:]]


def test_types_that_only_values_show_have_no_name() -> None:
    assert type_name(pa.list_(pa.int8())) is None
    assert type_name(pa.float16()) == "float16"
    assert type_name(pa.float32()) == "float32"
    assert type_name(pa.dictionary(pa.int8(), pa.large_string())) == "str"
    assert type_name(pa.large_binary()) == "bytes"


def test_values_are_the_callers_own() -> None:
    array = pa.array([[1, 2], [3, 4]], pa.list_(pa.int16(), 2))
    taken = taker(array).one(1)
    taken[:] = 0
    assert array.to_pylist() == [[1, 2], [3, 4]]
