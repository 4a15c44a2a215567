"""Small pictures to train on: CIFAR-10 as somebody has it, or made ones for a try without it."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import BadArgument
from joader.storage import open_storage

SIDE, CLASSES = 32, 10
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # CIFAR-10's
# How a part may be kept, and the columns of picture and label there.
_COLUMNS = {".parquet": ("image", "label"), ".tar": ("jpg", "cls")}


@dataclass(frozen=True)
class Part:
    """Pictures, N × 3 × 32 × 32 bytes, and their classes."""

    x: NDArray[np.uint8]
    y: NDArray[np.int64]


@dataclass(frozen=True)
class Pictures:
    """What to train on, what to test on, and what it is, for people."""

    train: Part
    test: Part
    name: str


def opened(folder: str | None, made: int, seed: int = 0) -> Pictures:
    """Return CIFAR-10 from a folder, or so many made pictures if none is given."""
    if folder is None:
        rng = np.random.default_rng(seed)
        train, test = _made(made, rng), _made(max(made // 4, 20), rng)
        return Pictures(train, test, f"{made:,} made pictures, not CIFAR-10")
    train, test = (_read(Path(folder), part) for part in ("train", "test"))
    return Pictures(train, test, f"CIFAR-10, {len(train.y):,} pictures")


def _read(folder: Path, part: str) -> Part:
    found = sorted(path for path in folder.glob(f"*{part}*") if path.suffix in (*_COLUMNS, ".npz"))
    if not found:
        raise BadArgument(
            f"--data {str(folder)!r} has no file *{part}*.parquet (columns image, label), "
            f"*{part}*.tar (members .jpg, .cls) or *{part}*.npz (arrays x, y)"
        )
    path = found[0]
    if path.suffix == ".npz":
        kept = np.load(path)
        return Part(kept["x"].astype(np.uint8), kept["y"].astype(np.int64))
    rows = open_storage(str(path), columns=_COLUMNS[path.suffix])
    pairs = [rows[row] for row in range(len(rows))]
    labels = np.array([int(label) for _, label in pairs], np.int64)
    return Part(np.stack([_decoded(body) for body, _ in pairs]), labels)


def _decoded(body: Any) -> NDArray[np.uint8]:
    from PIL import Image

    with Image.open(io.BytesIO(bytes(body))) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    if pixels.shape != (SIDE, SIDE, 3):
        raise BadArgument(f"a picture of --data is {pixels.shape[:2]}; CIFAR-10's are 32 × 32")
    return pixels.transpose(2, 0, 1).copy()


def _made(count: int, rng: np.random.Generator) -> Part:
    """Return waves whose direction and width are the class, under noise."""
    y = np.arange(count) % CLASSES
    angle = np.pi * (y % 5) / 5
    width = np.where(y < 5, 5.0, 9.0)
    down, across = np.mgrid[:SIDE, :SIDE]
    along = (np.cos(angle)[:, None, None] * across + np.sin(angle)[:, None, None] * down) / width[
        :, None, None
    ]
    wave = np.sin(2 * np.pi * along + rng.uniform(0, 2 * np.pi, (count, 1, 1)))
    color = rng.uniform(20, 60, (count, 3, 1, 1))
    pixels = 128 + color * wave[:, None] + rng.normal(0, 40, (count, 3, SIDE, SIDE))
    return Part(np.clip(pixels, 0, 255).astype(np.uint8), y.astype(np.int64))
