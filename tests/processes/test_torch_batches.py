"""What a batch is made of: everything torch's default_collate takes comes out as it makes it.

Every case is read by both loaders, and the results must be of the same types, shapes and values.
"""

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data as torch_data

import joader
from tests.processes.torch_data import Made, Pair

pytestmark = pytest.mark.usefixtures("shared_node")


def same(ours: Any, theirs: Any) -> bool:
    """Tell whether two batches are equal down to the types."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, torch.Tensor):
        if ours.is_sparse:
            return same(ours.to_dense(), theirs.to_dense())
        if ours.is_quantized:
            return same(ours.int_repr(), theirs.int_repr())
        return ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    if isinstance(ours, dict):
        pairs = zip(ours.items(), theirs.items(), strict=True)
        return all(a == b and same(x, y) for (a, x), (b, y) in pairs)
    if isinstance(ours, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    return bool(ours == theirs)


DTYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
DTYPES += (torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPES += (torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64)
DTYPES += (torch.float8_e4m3fn, torch.float8_e5m2)

CASES: dict[str, Any] = {
    "int": lambda row: row,
    "float": lambda row: row / 3,
    "bool": lambda row: row % 2 == 0,
    "text": lambda row: "x" * row,
    "bytes": lambda row: b"y" * (row + 1),
    "dict": lambda row: {"a": row, "b": torch.full((2, 2), float(row)), "name": f"row {row}"},
    "ordered dict": lambda row: OrderedDict(z=row, a=str(row)),
    "namedtuple": lambda row: Pair(torch.ones(3) * row, row),
    "namedtuple of texts": lambda row: Pair(str(row), "label"),
    "nested": lambda row: {"x": [row, (row, {"y": torch.tensor(row)})], "z": ([str(row)],)},
    "list of numbers": lambda row: [row, row + 1, row + 2],
    "list of texts": lambda row: [str(row), "b"],
    "numpy array": lambda row: np.full((3, 2), row, np.float32),
    "numpy int": lambda row: np.int16(row),
    "numpy float": lambda row: np.float64(row),
    "numpy bool": lambda row: np.bool_(row % 2),
    "numpy zero-dimensional": lambda row: np.array(row, np.int32),
    "numpy column order": lambda row: np.asfortranarray(np.arange(6).reshape(2, 3) + row),
    "no element": lambda row: torch.empty(0, 3),
    "no dimension": lambda row: torch.tensor(row),
    "view with strides": lambda row: (torch.arange(24) + row).reshape(4, 6)[::2, ::3],
    "expanded": lambda row: torch.tensor([[float(row)]]).expand(3, 4),
    "parameter": lambda row: torch.ones(2, requires_grad=True).detach() * row,
    **{str(dtype): (lambda d: lambda row: torch.tensor([row, 1]).to(d))(dtype) for dtype in DTYPES},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("batch_size", [3, None])
@pytest.mark.parametrize("address", [None, "/proc/nowhere/daemon.sock"])
def test_batches_are_those_of_torch(case: str, batch_size: int | None, address: str | None) -> None:
    dataset = Made(CASES[case])
    loader = joader.DataLoader(dataset, batch_size, address=address)
    ours = list(loader)
    assert bool(loader.stats().fallback) == bool(address)
    theirs = list(torch_data.DataLoader(dataset, batch_size))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert same(mine, other), (mine, other)
    loader.close()


UNUSUAL: dict[str, Any] = {
    "sparse": lambda row: torch.eye(3).mul(row).to_sparse(),
    "quantized": lambda row: torch.quantize_per_tensor(torch.ones(2) * row, 0.5, 0, torch.quint8),
    "with gradient": lambda row: torch.ones(2, requires_grad=True) * row,
    "parameter": lambda row: torch.nn.Parameter(torch.ones(2) * row),
    "none": lambda row: None,
    "function": lambda row: len,
    "set": lambda row: {row},
}


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated", "ignore:.*quantize")
@pytest.mark.parametrize("case", UNUSUAL)
def test_what_has_no_layout_travels_pickled(case: str) -> None:
    loader = joader.DataLoader(Made(UNUSUAL[case]), 2, collate_fn=list)
    for batch, rows in zip(loader, ([0, 1], [2, 3]), strict=True):
        for mine, row in zip(batch, rows, strict=True):
            assert same(mine, UNUSUAL[case](row))
    loader.close()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda row: None, "default_collate: batch must contain"),
        (lambda row: np.array(["a", "b"]), "default_collate: batch must contain"),
        (lambda row: torch.ones(row + 1), "stack expects each tensor to be equal size"),
        (lambda row: [0] * (row + 1), "each element in list of batch should be of equal size"),
    ],
)
def test_what_torch_cannot_collate_raises_what_torch_raises(make: Any, error: str) -> None:
    loader = joader.DataLoader(Made(make), 2)
    with pytest.raises((TypeError, RuntimeError), match=error):
        list(loader)
    loader.close()
    with pytest.raises((TypeError, RuntimeError), match=error):
        list(torch_data.DataLoader(Made(make), 2))


@pytest.mark.parametrize("options", [{}, {"num_workers": 0}, {"num_workers": 1}])
def test_what_cannot_be_pickled_is_made_in_the_job(options: dict[str, int]) -> None:
    with joader.DataLoader(Made(lambda row: lambda: row), 2, collate_fn=list, **options) as loader:
        assert [made() for batch in loader for made in batch] == [0, 1, 2, 3]


def test_a_collate_fn_gets_the_samples_of_a_batch_or_a_single_one() -> None:
    together = joader.DataLoader(Made(str, 5), 2, collate_fn="-".join)
    assert list(together) == ["0-1", "2-3", "4"]
    singly = joader.DataLoader(Made(str, 3), None, collate_fn=lambda text: text + "!")
    assert list(singly) == ["0!", "1!", "2!"]
    padded = joader.DataLoader(
        Made(lambda row: torch.ones(row + 1)),
        4,
        collate_fn=lambda batch: torch.nn.utils.rnn.pad_sequence(batch, batch_first=True),
    )
    assert next(iter(padded)).shape == (4, 4)
    named = joader.DataLoader(Made(int), 4, collate_fn=torch_data.default_collate)
    assert next(iter(named)).tolist() == [0, 1, 2, 3]
    for loader in (together, singly, padded, named):
        loader.close()


def test_batches_are_private_and_may_be_kept_and_changed() -> None:
    data = Made(lambda row: torch.full((64, 64), row, dtype=torch.int32), 40)
    loader = joader.DataLoader(data, 4, deterministic=True)
    for _ in range(2):
        kept = list(loader)
        for number, batch in enumerate(kept):
            assert batch.is_contiguous()
            assert batch[:, 0, 0].tolist() == list(range(4 * number, 4 * number + 4))
        for batch in kept:
            batch.add_(1000)
    loader.close()


def test_numpy_batches_can_be_asked_for() -> None:
    loader = joader.DataLoader(Made(lambda row: (np.ones(2) * row, row)), 2, as_numpy=True)
    arrays, rows = next(iter(loader))
    assert isinstance(arrays, np.ndarray)
    assert isinstance(rows, np.ndarray)
    loader.close()
    single = joader.DataLoader(Made(lambda row: np.ones(2) * row), None, as_numpy=True)
    assert isinstance(next(iter(single)), np.ndarray)
    single.close()


class Drawn(Made):
    """Rows with random numbers of torch's, and the worker they were made in."""

    def __getitem__(self, row: int) -> Any:
        info = torch_data.get_worker_info()
        return torch.rand(()), -1 if info is None else info.id


@pytest.mark.parametrize("workers", [None, 0, 2])
def test_a_job_that_loads_by_itself_draws_random_numbers_as_with_torch(workers: int | None) -> None:
    """With num_workers=0 from the job's own generators, with workers from others.

    Without a number they are in a worker's place, as they would be with a daemon.
    """

    def drawn(kind: Any, **options: Any) -> list[torch.Tensor]:
        torch.manual_seed(3)
        loader = kind(Drawn(len), 3, **options)
        numbers, ids = (torch.cat(parts) for parts in zip(*loader, strict=True))
        assert len(numbers.unique()) == len(numbers)
        return [numbers, ids, torch.rand(2)]

    options = {} if workers is None else {"num_workers": workers}
    ours = drawn(joader.DataLoader, address="/proc/nowhere/daemon.sock", **options)
    its = drawn(torch_data.DataLoader, num_workers=2 if workers is None else workers)
    if workers == 0:
        assert torch.equal(ours[0], its[0])
    assert set(ours[1].tolist()) == {None: {0}, 0: {-1}, 2: {0, 1}}[workers]
    assert torch.equal(ours[2], its[2])
    assert torch_data.get_worker_info() is None


def test_a_batch_that_torch_refuses_names_rows_and_shapes() -> None:
    made = Made(lambda row: torch.zeros(4) if row == 2 else torch.zeros(2, 3))
    with joader.DataLoader(made, batch_size=4, fallback=False) as batches:
        with pytest.raises(RuntimeError, match="equal size") as caught:
            next(iter(batches))
        (note,) = caught.value.__notes__
        assert "rows 0, 1, 3: tensor float32[2, 3]; row 2: tensor float32[4]." in note
        assert "collate_fn=" in note
