"""Tensors: into slots and back, and batches equal to torch's own default_collate."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from torch.utils.data import default_collate  # noqa: E402

from joader.memory import Arena, Ring, gather, pack, read  # noqa: E402
from joader.memory.dtypes import TENSOR_ITEM_BYTES  # noqa: E402
from tests.memory.test_gather import (  # noqa: E402
    SIZES,
    array_leaves,
    filled,
    lay_out,
    plain_leaves,
    scalar_leaves,
    trees_of_one_form,
)
from tests.memory.test_sample import round_trip  # noqa: E402
from tests.memory.trees import Colour, Pair, same  # noqa: E402


@pytest.mark.parametrize("name", TENSOR_ITEM_BYTES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (4, 5, 3)])
def test_a_tensor_of_every_type_comes_back_the_same(name: str, shape: tuple[int, ...]) -> None:
    dtype = getattr(torch, name)
    assert torch.empty(0, dtype=dtype).element_size() == TENSOR_ITEM_BYTES[name]
    tensor = torch.randint(0, 2, shape).to(dtype)
    for sample in (tensor, tensor.mT if tensor.ndim > 1 else tensor):
        assert pack(sample).layout.root.kind == "tensor"
        assert same(round_trip(sample), sample)
    batch = gather(*lay_out([tensor, tensor]), tensors=True)
    assert batch.collated
    assert same(batch.data, torch.stack([tensor, tensor]))


class Tagged(torch.Tensor):
    """A subclass, as torchvision has them."""


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(3, requires_grad=True),
        torch.eye(3).to_sparse(),
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(2).as_subclass(Tagged),
    ],
    ids=["requires_grad", "sparse", "parameter", "subclass"],
)
@pytest.mark.filterwarnings("ignore:.*parse")  # torch's own, on sparse tensors
def test_a_tensor_that_is_more_than_its_bytes_travels_as_an_object(tensor: Any) -> None:
    assert pack(tensor).layout.root.kind == "object"
    back = round_trip(tensor)
    assert type(back) is type(tensor)
    assert (back.layout, back.dtype, back.requires_grad) == (
        tensor.layout,
        tensor.dtype,
        tensor.requires_grad,
    )


def test_a_conjugated_or_expanded_tensor_is_written_as_it_reads() -> None:
    conjugated = torch.tensor([1 + 2j, 3 - 1j]).conj()
    assert torch.equal(round_trip(conjugated), conjugated.resolve_conj())
    assert torch.equal(round_trip(torch.ones(1).expand(5)), torch.ones(5))


def test_edits_of_a_tensor_never_reach_the_slot() -> None:
    parcel = pack(torch.zeros(8))
    slot = np.zeros(64, np.uint8)
    parcel.write(slot)
    read(parcel.layout, slot).add_(1)
    assert (slot == 0).all()


tensor_leaves = array_leaves.map(lambda arrays: arrays.map(torch.from_numpy))


@settings(max_examples=150, deadline=None)
@given(
    st.data(),
    trees_of_one_form(plain_leaves | array_leaves | scalar_leaves | tensor_leaves),
    st.integers(1, 5),
)
def test_a_gather_equals_default_collate(data: Any, form: Any, count: int) -> None:
    samples = [filled(form, data.draw) for _ in range(count)]
    layouts, arena, offsets = lay_out(samples)
    expected = default_collate(samples)
    for allocate in (None, Ring().lend, lambda size: torch.empty(size, dtype=torch.uint8)):
        batch = gather(layouts, arena, offsets, allocate=allocate)  # torch is loaded: tensors
        assert batch.collated
        assert same(batch.data, expected)


@pytest.mark.parametrize(
    "sample",
    [
        [1, 2, 3],
        (1.0, 2.0),
        [True, False],
        {"ids": list(range(40)), "name": "x"},
        ["a", "b"],
        [],
        {},
        Pair([1, 2], ("a", {"b": b"c"})),
        "text",
    ],
)
def test_containers_are_collated_by_the_rules_of_torch(sample: Any) -> None:
    batch = gather(*lay_out([sample, sample, sample]))
    assert batch.collated
    assert same(batch.data, default_collate([sample] * 3))


@pytest.mark.parametrize(
    "sample",
    [
        *(None, 1j, 2**64, bytearray(b"ab"), Colour.RED, np.array(["a"]), np.zeros(2, ">f4")),
        *(np.datetime64("2020"), np.zeros(2, "M8[s]"), np.zeros(2, np.longdouble)),
        {Colour.RED: 1},
    ],
    ids=repr,
)
def test_what_torch_refuses_or_knows_better_is_left_to_the_callers_collate(sample: Any) -> None:
    layouts, arena, offsets = lay_out([sample, sample])
    batch = gather(layouts, arena, offsets, allow_pickle=True)
    assert not batch.collated
    assert same(batch.data, [sample, sample])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("before", [0, 1, 64])
def test_leaves_of_every_size_and_place_are_gathered_by_torch(size: int, before: int) -> None:
    rng = np.random.default_rng(size)
    samples = [
        [rng.integers(0, 256, length, np.uint8) for length in (before, size)] for _ in range(9)
    ]
    layouts, arena, offsets = lay_out(samples)
    picked = [8, 0, 0, 3]
    batch = gather([layouts[0]], arena, np.array(offsets)[picked])
    assert same(batch.data, default_collate([samples[place] for place in picked]))


def test_tensors_without_an_array_type_come_as_a_list_where_arrays_are_wanted() -> None:
    for dtype, collated in ((torch.float32, True), (torch.bfloat16, False)):
        batch = gather(*lay_out([torch.ones(3, dtype=dtype)] * 2), tensors=False)
        assert batch.collated is collated
        assert isinstance(batch.data, np.ndarray) is collated


def test_gathering_from_a_clients_read_only_arena_warns_of_nothing_and_changes_nothing() -> None:
    with Arena(2**20) as owner:
        parcel = pack((torch.arange(5000), 7))
        parcel.write(owner.slot(128, parcel.layout.size_bytes))
        before = owner.view.copy()
        descriptor = owner.read_only_descriptor()
        with Arena.attach(descriptor, owner.size_bytes) as client, warnings.catch_warnings():
            warnings.simplefilter("error")
            batch = gather([parcel.layout], client.view, [128, 128])
            read(parcel.layout, client.view[128:])[0].add_(1)
        images, labels = batch.data
        images.add_(1)
        labels.zero_()
        assert (owner.view == before).all()


SIZE = 2**20
VIEWS: dict[str, Callable[[Any], Any]] = {
    "the tensor": lambda tensor: tensor,
    "a slice": lambda tensor: tensor[3:5],
    "another type": lambda tensor: tensor.view(torch.float32),
    "detached": lambda tensor: tensor.detach().view(4, -1).T,
    "numpy": lambda tensor: tensor.numpy(),
    "numpy, sliced, and a tensor again": lambda tensor: torch.from_numpy(tensor.numpy()[5:9]),
    "dlpack": lambda tensor: torch.from_dlpack(tensor),
    "unbound": lambda tensor: tensor.view(2, -1).unbind(0)[1],
    "its storage": lambda tensor: tensor.untyped_storage(),
    "kept by autograd": lambda tensor: (
        tensor.view(torch.float32) * torch.ones(1, requires_grad=True)
    ),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.filterwarnings("ignore:.*storage:UserWarning")
def test_a_buffer_is_not_used_again_while_a_tensor_on_it_lives(view: Callable[[Any], Any]) -> None:
    ring = Ring()
    lent = ring.lend(SIZE)
    lent[:] = 0
    where = lent.ctypes.data
    held = view(torch.from_numpy(lent))
    del lent
    others = [ring.lend(SIZE) for _ in range(3)]
    assert where not in [other.ctypes.data for other in others]
    del held
    assert ring.lend(SIZE).ctypes.data == where


def test_batches_held_by_the_user_keep_their_values_while_others_are_gathered() -> None:
    rng = np.random.default_rng(0)
    samples = [(rng.integers(0, 256, 2**16, np.uint8), label) for label in range(32)]
    layouts, arena, offsets = lay_out(samples)
    ring, kept = Ring(), {}
    for step in range(60):
        picked = rng.integers(0, 32, 4)
        images, labels = gather(
            [layouts[0]], arena, np.array(offsets)[picked], allocate=ring.lend
        ).data
        if step % 3 == 0:
            kept[step] = images[1:], labels[1:]
        del images, labels
        kept.pop(step - 20, None)
        for images, labels in kept.values():
            for image, label in zip(images, labels, strict=True):
                assert np.array_equal(image.numpy(), samples[int(label)][0])
        images = labels = image = None


def test_a_dense_tensor_lies_as_it_did_and_a_batch_as_torch_collates_it() -> None:
    last = torch.arange(48.0).reshape(1, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    permuted = torch.arange(48.0).reshape(4, 4, 3).permute(2, 0, 1)
    for tensor in (last, permuted, permuted.mT):
        back = round_trip(tensor)
        assert torch.equal(back, tensor)
        assert back.stride() == tensor.stride() or tensor is last
        batch = gather(*lay_out([tensor, tensor.contiguous()]), tensors=True)
        assert batch.collated
        assert torch.equal(batch.data, torch.stack([tensor, tensor]))
        assert batch.data.is_contiguous()
    assert round_trip(last).is_contiguous(memory_format=torch.channels_last)
    sliced = torch.arange(12).reshape(3, 4)[:, ::2]
    assert round_trip(sliced).is_contiguous()
