"""Built-in steps on images: decode, resize, crop, flip, jitter, to tensors.

Deterministic steps (`Decode`, `Resize`, `ShorterSide`, `CenterCrop`) belong in the shared part of a
recipe; random ones, `ToTensor` and `Normalize` in a job's own part: per sample in the workers, or
per batch in the client or on its GPU (`Batch`).

Reading order: `step` (what every step is, and the two layouts), `sample` (where the image is),
`steps` and `batch` (sequences); then the steps: `decode` (with `body`), `resize` and `random_crop`
(with `bilinear`, `resampling`), `center_crop`, `flip`, `jitter` (with `colors`), `to_tensor`. Also:
`libraries` (which package does the work, and why), `pixels`, `tensors`.

Not here: files and rows (storage), shared memory (memory), seeds of the generators (workers).
"""

from typing import TYPE_CHECKING

from joader.lazy import export_lazily

if TYPE_CHECKING:
    from joader.images.batch import Batch
    from joader.images.center_crop import CenterCrop
    from joader.images.decode import Decode, decode, decode_into, image_shape
    from joader.images.flip import RandomHorizontalFlip
    from joader.images.jitter import ColorJitter
    from joader.images.libraries import warm_up
    from joader.images.random_crop import RandomResizedCrop
    from joader.images.resize import Resize, ShorterSide
    from joader.images.step import Step
    from joader.images.steps import Steps, apply, is_random
    from joader.images.to_tensor import Normalize, ToTensor

__all__ = [
    "Batch",
    "CenterCrop",
    "ColorJitter",
    "Decode",
    "Normalize",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
    "ShorterSide",
    "Step",
    "Steps",
    "ToTensor",
    "apply",
    "decode",
    "decode_into",
    "image_shape",
    "is_random",
    "warm_up",
]

export_lazily(
    __name__,
    {
        "batch": ("Batch",),
        "center_crop": ("CenterCrop",),
        "decode": ("Decode", "decode", "decode_into", "image_shape"),
        "flip": ("RandomHorizontalFlip",),
        "jitter": ("ColorJitter",),
        "libraries": ("warm_up",),
        "random_crop": ("RandomResizedCrop",),
        "resize": ("Resize", "ShorterSide"),
        "step": ("Step",),
        "steps": ("Steps", "apply", "is_random"),
        "to_tensor": ("Normalize", "ToTensor"),
    },
)
