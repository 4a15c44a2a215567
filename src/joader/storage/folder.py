"""A folder with one subfolder of images per class: `class/x.jpg`.

Rows, their order and the numbers of classes are those of torchvision's `ImageFolder`: classes
sorted by name, then paths. Columns: `image` (encoded), `label`, `path`. The same layout is read
from an object store.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from joader.errors import NoData
from joader.storage.files import FileList, listed
from joader.storage.local_files import LocalFiles, walk
from joader.storage.places import Files, files_at

EXTENSIONS = (
    *(".jpg", ".jpeg", ".png", ".ppm", ".bmp"),
    *(".pgm", ".tif", ".tiff", ".webp"),
)


class ImageFolder(FileList):
    """Images in one folder per class; `classes` are the names, by label."""

    classes: tuple[str, ...]

    def __init__(
        self,
        root: str,
        *,
        columns: Sequence[str] | None = None,
        in_flight: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """List the images."""
        files = files_at(root, in_flight, settings)
        images = dict(_images(files))
        if not images:
            raise NoData(
                f"{root} has no class folders; give a folder with one subfolder per class "
                "(class/x.jpg), or open it with kind='files'"
            )
        empty = sorted(name for name, found in images.items() if not found)
        if empty:
            raise NoData(
                f"{len(empty)} of {len(images)} classes in {root} have no images: "
                f"{', '.join(empty[:5])}; put images ({' '.join(EXTENSIONS)}) there, or remove "
                "these folders"
            )
        self.classes = tuple(sorted(images))
        names, labels = [], []
        for label, name in enumerate(self.classes):
            names += images[name]
            labels += [label] * len(images[name])
        self.keep(files, names, labels)
        self.choose(columns, ("image", "label"))


def _images(files: Files) -> Iterator[tuple[str, list[str]]]:
    """Yield each class with the names of its images, in their order."""
    if isinstance(files, LocalFiles):
        start = len(files.root.rstrip("/")) + 1
        with os.scandir(files.root) as entries:
            folders = [entry.path for entry in entries if entry.is_dir()]
        for folder in folders:
            yield folder[start:], [path[start:] for path in walk(folder) if _is_image(path)]
        return
    found: dict[str, list[str]] = {}
    for name in sorted(listed(files), key=os.path.split):
        folder, slash, _ = name.partition("/")
        if slash and _is_image(name):
            found.setdefault(folder, []).append(name)
    yield from found.items()


def _is_image(path: str) -> bool:
    return path.lower().endswith(EXTENSIONS)
