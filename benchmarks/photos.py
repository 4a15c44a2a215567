"""The dataset of the job benchmarks: real JPEGs, many rows pointing at the same photos.

`Photos(path, length)` decodes with Pillow and resizes to 256 x 256, as a training script would.
Without a Parquet file of photos it makes its own.
"""

import io
from functools import cache
from pathlib import Path

import numpy as np


class Photos:
    def __init__(self, path: str | None, length: int) -> None:
        self.path = path
        self.length = length

    @property
    def bodies(self) -> list[bytes]:
        return photos(self.path)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> tuple[np.ndarray, int]:  # type: ignore[type-arg]
        from PIL import Image

        with Image.open(io.BytesIO(self.bodies[row % len(self.bodies)])) as photo:
            small = photo.convert("RGB").resize((256, 256), Image.Resampling.BILINEAR)
        return np.asarray(small), row


@cache
def photos(path: str | None) -> list[bytes]:
    """Return the photos, read once a process."""
    if path and Path(path).exists():
        import pyarrow.parquet as pq

        return [body.as_py() for body in pq.read_table(path, columns=["image"])["image"]]
    return _made(64)


def _made(count: int) -> list[bytes]:
    from PIL import Image

    rng = np.random.default_rng(0)
    bodies = []
    for _ in range(count):
        coarse = Image.fromarray(rng.integers(0, 255, (24, 32, 3), dtype=np.uint8))
        file = io.BytesIO()
        coarse.resize((500, 375), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
        bodies.append(file.getvalue())
    return bodies
