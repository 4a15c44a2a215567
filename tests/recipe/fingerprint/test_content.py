"""Arrays, tensors and files: by content, or by the stamp of what holds it."""

import io
import os
import sys

import numpy as np
import pytest

from joader.errors import BadArgument
from joader.recipe.fingerprint import fingerprint
from tests.recipe.fingerprint.test_anatomy import different


@pytest.mark.parametrize("size", [3, 500])
def test_arrays_count_by_type_shape_and_every_element(size):
    array = np.arange(4 * size, dtype=np.int32)
    changed = array.copy()
    changed[-1] += 1
    different(array, changed, array.astype(">i4"), array.view(np.float32), array.reshape(4, -1))
    assert fingerprint(array.reshape(4, -1)) == fingerprint(np.asfortranarray(array.reshape(4, -1)))
    assert fingerprint(array) == fingerprint(np.repeat(array, 2)[::2])


def test_arrays_of_any_elements_have_fingerprints():
    gaps = np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8]}, align=True)
    first, second = np.full(3, 0, gaps), np.full(3, 0, gaps)
    first.view(np.uint8)[1] = 7  # between the fields: nobody's data
    assert fingerprint(first) == fingerprint(second)
    second["b"][1] = 1
    objects = [np.array([1, None], object), np.array([1, "a"], object)]
    times = [np.array([1], "M8[s]"), np.array([1], "M8[ms]"), np.array([2], "M8[s]")]
    texts = [np.array(["a", "b"]), np.array(["a", "c"]), np.array([b"a", b"b"])]
    masks = [np.ma.masked_array([1, 2], [0, 1]), np.ma.masked_array([1, 2], [0, 0])]
    empty = [np.zeros(0), np.zeros((0, 3)), np.zeros(0, "V0"), np.zeros((), np.float32)]
    different(first, second, *objects, *times, *texts, *masks, *empty, np.float32(0))


def test_a_mapped_array_is_known_by_its_file_and_the_place_in_it(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(5_000))
    mapped = np.load(path, mmap_mode="r")
    assert fingerprint(mapped) == fingerprint(np.load(path, mmap_mode="r"))
    assert fingerprint(mapped[1:3]) == fingerprint(np.asarray(mapped)[1:3])
    different(mapped, mapped[1:3], mapped[2:4], mapped[::2], np.array(mapped), mapped + 1)
    before = fingerprint(mapped)
    os.utime(path, ns=(1, 1))
    assert fingerprint(np.load(path, mmap_mode="r")) != before
    path.unlink()
    with pytest.raises(BadArgument, match="its file cannot be accessed"):
        fingerprint(mapped)


def test_an_open_file_is_known_by_path_size_and_time_not_by_how_far_it_was_read(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("one\ntwo\n")
    with open(path) as text, open(path, "rb") as raw:
        before = fingerprint(text)
        text.readline()
        raw.read(1)
        assert fingerprint(text) == fingerprint(raw) == before
    path.write_text("one\ntwo\nthree\n")
    with open(path) as text:
        assert fingerprint(text) != before
    different(sys.__stdout__, sys.__stderr__, io.BytesIO(b"a"), io.BytesIO(b"b"))


def test_tensors_count_by_type_shape_and_content():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6)
    changed = tensor.clone()
    changed[5] = 0
    different(
        *(tensor, changed, tensor.int(), tensor.reshape(2, 3), tensor.numpy(), torch.zeros(0)),
        *(torch.tensor(1.0), torch.zeros(2).bfloat16(), torch.nn.Parameter(torch.ones(2))),
        *(torch.eye(3).to_sparse(), torch.ones(3).to_sparse(), torch.tensor([1j]).conj()),
    )
    assert fingerprint(tensor.reshape(2, 3).T) == fingerprint(tensor.reshape(2, 3).T.contiguous())
    assert fingerprint(torch.tensor([1j]).conj()) == fingerprint(torch.tensor([complex(0, -1)]))
