"""Pictures for the examples: a folder of JPEGs, one sub-folder a class, made if there is none.

Give the examples a folder of your own instead, laid out as torchvision's ImageFolder wants it.
Needs: pip install '.[torch,images]', in the clone.
"""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

CLASSES = ("red", "green", "blue")
COUNT = int(os.environ.get("EXAMPLE_IMAGES", "600"))
# What examples keep for their next run; nothing is written where they are started.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "joader-examples"

if missing := [name for name in ("numpy", "torch", "PIL") if find_spec(name) is None]:
    sys.exit(f"this needs {', '.join(missing)}: pip install '.[torch,images]', in the clone")

import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402


def folder() -> Path:
    """Return the folder named on the command line, or one of made pictures."""
    words = sys.argv[1:2]
    if words and words[0].startswith("-"):
        sys.exit(sys.modules["__main__"].__doc__)
    found = Path(words[0]) if words else CACHE / f"{COUNT}-images"
    if not any(found.glob("*/*.jpg")):
        if found.exists() and any(found.iterdir()):
            sys.exit(f"{found} has no pictures: they are to be in sub-folders, as CLASS/*.jpg")
        made = found.with_name(f"{found.name}.{os.getpid()}")  # several jobs may start at once
        try:
            make(made)
            made.rename(found)
        except OSError:
            if not any(found.glob("*/*.jpg")):  # it was not another job that was faster
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return found


def make(target: Path) -> None:
    """Write pictures in which one color is strongest."""
    rng = np.random.default_rng(0)
    for number in range(COUNT):
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
