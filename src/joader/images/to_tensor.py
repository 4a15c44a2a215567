"""From levels to what a model takes: floats from 0 to 1, channels first; then normalized.

Cost at 224 x 224: 0.09 ms in a worker, where the result also takes four times the memory of the
levels; as batch steps the copy to the GPU stays small and the work is done there in microseconds.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from joader.errors import BadArgument
from joader.images import libraries
from joader.images.pixels import Shape, described, pixels, place, put
from joader.images.step import Step
from joader.images.tensors import constant, planar, tensor_of


@dataclass(frozen=True)
class ToTensor(Step):
    """Turn uint8, height x width x 3, into float32 in [0, 1], 3 x height x width.

    A sample becomes a torch tensor if torch is installed, else a NumPy array; `library` chooses one
    of the two. As for a resize, what is installed decides, not what happens to be loaded, so that
    all samples of a batch are of one kind.
    """

    library: Literal["torch", "numpy"] | None = None

    dtype: ClassVar[str] = "float32"
    libraries: ClassVar[tuple[str, ...]] = ("torch",)

    def __post_init__(self) -> None:
        """Check the library."""
        if self.library not in (None, "torch", "numpy"):
            raise BadArgument(f"library is {self.library!r}; it must be 'torch', 'numpy' or None")

    def shape(self, shape: Shape | None) -> Shape | None:
        """Return the size with the channels first."""
        return None if shape is None else (shape[2], shape[0], shape[1])

    def on_image(self, image: Any, rng: Any, out: Any) -> Any:
        """Convert one image."""
        levels = pixels(image, self).transpose(2, 0, 1)
        room = place(out, levels.shape, np.float32)
        np.divide(np.ascontiguousarray(levels), np.float32(255), out=room, dtype=np.float32)
        if self.library == "numpy":
            return room
        torch = libraries.needed_torch(f"{self}") if self.library else libraries.torch()
        return room if torch is None else torch.from_numpy(room)

    def on_batch(self, images: Any, generator: Any) -> Any:
        """Convert all images."""
        view = planar(images, self)
        if view.is_floating_point():
            raise BadArgument(
                f"{self} takes uint8 levels but got {described(images)}; leave it out for floats"
            )
        torch = libraries.torch()
        return view.to(torch.float32, memory_format=torch.contiguous_format).div_(255)


@dataclass(frozen=True)
class Normalize(Step):
    """Subtract a mean from each channel and divide by a standard deviation; after `ToTensor`."""

    mean: float | tuple[float, ...]  # a number: of each channel
    std: float | tuple[float, ...]

    dtype: ClassVar[str] = "float32"

    def __post_init__(self) -> None:
        """Normalize the arguments and check them."""
        for name in ("mean", "std"):
            given = getattr(self, name)
            values = (given,) * 3 if isinstance(given, Real) else tuple(given)
            if len(values) != 3:
                raise BadArgument(f"{name} is {given}; give one value for each of 3 channels")
            object.__setattr__(self, name, tuple(float(value) for value in values))
        if not all(self._of_channels[1]):
            raise BadArgument(f"std is {self.std}; it must be above 0 in every channel")

    def on_image(self, image: Any, rng: Any, out: Any) -> Any:
        """Normalize one image."""
        if isinstance(image, np.ndarray) and image.dtype.kind == "f" and image.ndim == 3:
            mean, std = (
                np.array(values, image.dtype).reshape(3, 1, 1) for values in self._of_channels
            )
            return put((image - mean) / std, out)
        torch = libraries.loaded_torch()
        if torch is not None and isinstance(image, torch.Tensor) and image.ndim == 3:
            result = self.on_batch(image[None], None)[0]
            return result if out is None else tensor_of(put(result.numpy(), out), torch)
        raise BadArgument(
            f"{self} takes an image of floats, 3 x height x width, but got {described(image)}; "
            "put ToTensor() before it"
        )

    def on_batch(self, images: Any, generator: Any) -> Any:
        """Normalize all images."""
        view = planar(images, self)
        if not view.is_floating_point():
            raise BadArgument(
                f"{self} takes floats but got {described(images)}; put ToTensor() before it"
            )
        mean, std = (
            constant(values, view.dtype, view.device).view(3, 1, 1) for values in self._of_channels
        )
        return view.sub(mean).div_(std)

    @property
    def _of_channels(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        assert isinstance(self.mean, tuple)
        assert isinstance(self.std, tuple)
        return self.mean, self.std
