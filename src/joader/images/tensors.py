"""Converts between NumPy arrays and torch tensors without a copy, and checks batches of images."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.images import libraries
from joader.images.pixels import described


def tensor_of(array: NDArray[Any], torch: Any) -> Any:
    """Return a tensor on the same memory, which must only be read.

    torch warns about a read-only array, since its tensors can always be written to.
    """
    return torch.from_numpy(array if array.flags.writeable else np.asarray(_Unlocked(array)))


class _Unlocked:
    """The bytes of an array, without the flag that they are read-only."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array  # keeps the memory
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def planar(images: Any, who: object) -> Any:
    """Return a view N x 3 x height x width of a batch, or raise an error that describes it.

    uint8 batches come as N x height x width x 3, floating ones as N x 3 x height x width.
    """
    torch = libraries.needed_torch("a batch step")
    if isinstance(images, torch.Tensor) and images.ndim == 4:
        if images.dtype == torch.uint8 and images.shape[3] == 3:
            return images.permute(0, 3, 1, 2)
        if images.is_floating_point() and images.shape[1] == 3:
            return images
    raise BadArgument(
        f"{who} takes a batch as a torch tensor, uint8 of N x height x width x 3 or floating of "
        f"N x 3 x height x width, but got {described(images)}; for uint8 images with channels "
        "first use batch.permute(0, 2, 3, 1)"
    )


def as_given(view: Any) -> Any:
    """Undo `planar`: return uint8 with channels last, contiguous."""
    if view.is_floating_point():
        return view
    return view.permute(0, 2, 3, 1).contiguous()


@lru_cache(maxsize=256)
def constant(values: tuple[float, ...], dtype: Any, device: Any) -> Any:
    """Return a few numbers as a read-only tensor; cached, since copying them to a GPU waits."""
    return libraries.torch().tensor(values, dtype=dtype, device=device)


def uniform(shape: tuple[int, ...], generator: Any, device: Any) -> Any:
    """Draw from [0, 1) on the generator's device, and move the result to `device`."""
    torch = libraries.torch()
    where = device if generator is None else generator.device
    drawn = torch.rand(shape, generator=generator, device=where)
    return drawn.to(device, non_blocking=True)
