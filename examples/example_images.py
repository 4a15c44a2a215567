"""Pictures for the examples: a folder of JPEGs, one sub-folder a class, made if there is none.

Give the examples a folder of your own instead, laid out as torchvision's ImageFolder wants it.
"""

import os
import sys
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ("red", "green", "blue")


def folder() -> Path:
    """Return the folder named on the command line, or `example-images`, made if it is not there."""
    found = Path(sys.argv[1] if len(sys.argv) > 1 else "example-images")
    if not any(found.glob("*/*.jpg")):
        if found.exists() and any(found.iterdir()):
            sys.exit(f"{found} has no pictures: they are to be in sub-folders, as CLASS/*.jpg")
        made = found.with_name(f"{found.name}.{os.getpid()}")  # several jobs may start at once
        make(made, count=int(os.environ.get("EXAMPLE_IMAGES", "600")))
        try:
            made.rename(found)
        except OSError:  # another job was faster
            for path in (*made.glob("*/*.jpg"), *made.glob("*"), made):
                path.unlink() if path.is_file() else path.rmdir()
    return found


def make(target: Path, count: int) -> None:
    """Write pictures in which one colour is strongest."""
    rng = np.random.default_rng(0)
    for number in range(count):
        label = number % len(CLASSES)
        pixels = rng.integers(0, 160, (6, 8, 3), dtype=np.uint8)
        pixels[..., label] += 95
        picture = Image.fromarray(pixels).resize((400, 300), Image.Resampling.BICUBIC)
        path = target / CLASSES[label] / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path, quality=90)


class Files:
    """Encoded bytes of a picture, and its label: `prepare=[Decode()]` makes pixels of them."""

    def __init__(self, root: Path) -> None:
        self.paths = sorted(root.glob("*/*.jpg"))
        names = sorted({path.parent.name for path in self.paths})
        self.labels = [names.index(path.parent.name) for path in self.paths]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, row: int) -> tuple[bytes, int]:
        return self.paths[row].read_bytes(), self.labels[row]
