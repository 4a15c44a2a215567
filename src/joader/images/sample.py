"""The image in a sample: the sample itself, the first of a tuple or list, or the item "image".

The rest of a sample (label, name) is passed on as it is, in a new container of the same type.
Batches are built the same way, with many images in place of one.
"""

import copy
from typing import Any

from joader.errors import BadArgument

KEY = "image"


def image_of(sample: Any) -> Any:
    """Return the image in a sample."""
    if isinstance(sample, tuple | list):
        if not sample:
            raise BadArgument(
                f"a sample is an empty {type(sample).__name__}; its first item must be the image"
            )
        return sample[0]
    if isinstance(sample, dict):
        if KEY not in sample:
            raise BadArgument(
                f"a sample is a dict without the key {KEY!r}; it has {list(sample)[:8]}"
            )
        return sample[KEY]
    return sample


def with_image(sample: Any, image: Any) -> Any:
    """Return the same sample with another image; the given one stays as it is."""
    if isinstance(sample, tuple):
        made = getattr(sample, "_make", tuple)  # a namedtuple makes one of its kind
        return made((image, *sample[1:]))
    if isinstance(sample, list):
        return [image, *sample[1:]]
    if isinstance(sample, dict):
        changed = copy.copy(sample)  # keeps the class
        changed[KEY] = image
        return changed
    return image
