"""Which rows `joader profile` reads: a dataset's, or pictures of its own."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from joader.catalog import open_table
from joader.errors import JoaderError
from joader.images import Decode, Resize, Steps
from joader.storage import open_storage
from papers.profile.loading_runs import Rows

PICTURES = 64


def rows_at(place: str) -> Rows:
    """Return the rows of a path or table; pictures are decoded and resized to 224 × 224."""
    stored = open_storage(place) if os.path.exists(place) else open_table(place).view()
    steps = Steps([Decode(), Resize(224, 224)])
    try:
        steps(stored[0])
    except (JoaderError, OSError, ValueError, TypeError):
        return Rows(place, len(stored), stored.__getitem__)
    return Rows(place, len(stored), lambda row: steps(stored[row]))


def pictures(folder: Path) -> Rows:
    """Write some pictures, and return them: JPEGs of 640 × 480, decoded and resized by Pillow."""
    from joader.cli.demo.pictures import write_pictures

    paths = list(write_pictures(folder, range(PICTURES)))

    def read(row: int) -> Any:
        from PIL import Image

        with Image.open(paths[row]) as picture:
            return np.asarray(picture.convert("RGB").resize((224, 224)))

    return Rows("pictures of 640 × 480", PICTURES, read)
