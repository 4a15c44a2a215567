"""Objects that are mostly bytes: arrays and tensors by content, mapped and open files by stamp.

Elements are taken in C order regardless of their strides. Fields of a structured array are taken
one by one, since the gaps between them hold arbitrary bytes.
"""

import mmap
import os
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.recipe.fingerprint.graph import DIGEST_BYTES, Opaque, Part, digest_of, label
from joader.recipe.fingerprint.memory import Memory
from joader.recipe.fingerprint.spans import over_spans

# Kinds of elements that are their bytes; others (objects, NumPy's variable strings) are listed.
_PLAIN_KINDS = frozenset("biufcmMSUV")
_SPAN = 2**23  # bytes for one thread at a time; part of the fingerprint


def array_part(array: NDArray[Any], memory: Memory | None) -> Part:
    """Take an array apart: dtype, shape and content, or its place in the file if it is mapped."""
    dtype = array.dtype
    head = ("array", repr(dtype), array.shape)
    words = f"{dtype} array of shape {array.shape}"
    mapped = _memory_map(array)
    if mapped is not None:
        first = array.ctypes.data - np.frombuffer(mapped._mmap, np.uint8).ctypes.data
        offset = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY + first
        stamp = file_stamp(os.fspath(mapped.filename))
        return Part(label("mapped", *head, array.strides, offset, *stamp), words=f"mapped {words}")
    if dtype.names is not None:
        fields = [(f"[{name!r}]", array[name]) for name in dtype.names]
        return Part(label(*head), fields, words)
    if dtype.hasobject or dtype.kind not in _PLAIN_KINDS:
        return Part(label(*head), [(".tolist()", array.ravel().tolist())], words)
    return Part(label(*head, _digest(array, memory)), words=words)


def tensor_part(tensor: Any, torch: Any, memory: Memory | None) -> Part | None:
    """Take a tensor apart; None if it is not one plain block of elements."""
    plain = tensor.layout is torch.strided and not (tensor.is_quantized or tensor.is_nested)
    if not plain or tensor.device.type == "meta":
        return None
    shape = tuple(tensor.shape)
    values = tensor.detach().as_subclass(torch.Tensor).cpu().resolve_conj().resolve_neg()
    raw = values.contiguous().reshape(-1).view(torch.uint8).numpy()
    return Part(
        label("tensor", str(tensor.dtype), shape, tensor.device.type, _digest(raw, memory)),
        words=f"{tensor.dtype} tensor of shape {shape}",
    )


def file_part(file: Any) -> Part:
    """Treat an open file as its path, size and time of change; its position is left out."""
    name = getattr(file, "name", None)
    if isinstance(name, str | bytes) and os.path.isfile(name):
        return Part(label("file", *file_stamp(os.fsdecode(name))), words=f"file {name!r}")
    if isinstance(name, str) and name.startswith("<"):
        return Part(label("stream", name), words=f"stream {name}")
    raise Opaque("it is an open file without a path")


def file_stamp(path: str) -> tuple[str, int, int]:
    """Return the real path, size and time of change of a file; raise Opaque if it is gone."""
    try:
        stat = os.stat(path)
    except OSError as error:
        raise Opaque(f"its file cannot be accessed: {error}") from error
    return os.path.realpath(path), stat.st_size, stat.st_mtime_ns


def _memory_map(array: NDArray[Any]) -> Any:
    """Return the mapped file that an array is in, or None."""
    base: Any = array
    while isinstance(base, np.ndarray):
        mapped: Any = base if isinstance(base, np.memmap) else None
        if mapped is not None and mapped._mmap is not None and mapped.filename is not None:
            return mapped
        base = base.base
    return None


def _digest(array: NDArray[Any], memory: Memory | None) -> bytes:
    if array.itemsize == 0 or array.size == 0:
        return b""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return _bytes_digest(raw) if memory is None else memory.bytes_digest(raw, _bytes_digest)


def _bytes_digest(raw: NDArray[np.uint8]) -> bytes:
    """Digest the digests of all spans, so that several threads can work on large data."""

    def of_span(start: int, end: int) -> bytes:
        return blake2b(raw[start:end].data, digest_size=DIGEST_BYTES).digest()

    return digest_of(label("bytes", raw.size), over_spans(of_span, raw.size, _SPAN))
