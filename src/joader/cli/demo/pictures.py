"""Pictures for the demo: JPEGs that cost as much as photos to decode, in learnable classes.

A picture is a pattern (its class) in two random colors, of random width, position and slant, under
clouds and grain. All of it follows from the picture's number, so every run has the same pictures.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 640, 480
# Patterns are computed at this fraction of the size and enlarged; grain is not.
COARSE = 2
GRAIN = 16
PATTERNS = ("stripes", "bars", "rings", "checks", "clouds")
QUALITY = 90

Plane = NDArray[Any]  # of float32


def write_pictures(folder: Path, numbers: Iterable[int]) -> Iterator[Path]:
    """Write pictures, named `<number>-<class>.jpg`, and yield each once it is written."""
    for number in numbers:
        path = folder / f"{number:05}-{number % len(PATTERNS)}.jpg"
        picture(number).save(path, quality=QUALITY)
        yield path


def picture(number: int) -> Any:
    """Return the picture with this number, as a Pillow image."""
    from PIL import Image

    rng = np.random.default_rng(number)
    pattern = _pattern(PATTERNS[number % len(PATTERNS)], rng)[..., None]
    near, far = rng.uniform(60, 195, (2, 3)).astype(np.float32)
    coarse = near * pattern + far * (1 - pattern) + 60 * _clouds(rng, 8)[..., None] - 30
    small = Image.fromarray(coarse.astype(np.uint8))
    smooth = small.resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR)
    # Far enough from 0 and 255 for the grain, so that bytes may be added as they are.
    grain = rng.integers(-GRAIN, GRAIN + 1, (HEIGHT, WIDTH, 1), dtype=np.int8)
    return Image.fromarray(np.asarray(smooth) + grain.view(np.uint8))


def _pattern(name: str, rng: np.random.Generator) -> Plane:
    """Return a plane of values in [0, 1]."""
    y = np.arange(0, HEIGHT, COARSE, dtype=np.float32)[:, None]
    x = np.arange(0, WIDTH, COARSE, dtype=np.float32)[None, :]
    waves = 2 * np.pi / rng.uniform(50, 110)
    slant, phase = rng.uniform(-0.3, 0.3), rng.uniform(0, 2 * np.pi)
    across = (x + slant * y) * np.float32(waves) + np.float32(phase)
    down = (y + slant * x) * np.float32(waves) + np.float32(phase)
    match name:
        case "stripes":
            plane = np.sin(down)
        case "bars":
            plane = np.sin(across)
        case "rings":
            away = np.hypot(x - rng.uniform(130, 510), y - rng.uniform(100, 380))
            plane = np.sin(away * np.float32(waves) + np.float32(phase))
        case "checks":
            plane = np.sin(across) * np.sin(down)
        case _:
            return _clouds(rng, 5)
    softened: Plane = (np.clip(3 * plane, -1, 1) + 1) / 2
    return softened


def _clouds(rng: np.random.Generator, size: int) -> Plane:
    """Return `size` × `size` random values in [0, 1] as a smooth plane."""
    from PIL import Image

    coarse = Image.fromarray(rng.integers(0, 256, (size, size), dtype=np.uint8))
    smooth = coarse.resize((WIDTH // COARSE, HEIGHT // COARSE), Image.Resampling.BICUBIC)
    return np.asarray(smooth, np.float32) / 255


if __name__ == "__main__":  # some of the pictures, one line for each: demo.py runs one per core
    folder, count, part, parts = sys.argv[1:]
    for _ in write_pictures(Path(folder), range(int(part), int(count), int(parts))):
        print(flush=True)
