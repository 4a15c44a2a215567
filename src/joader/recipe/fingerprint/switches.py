"""Library switches that change the results of the same code: default dtypes, decoder options.

They are not state of a dataset, so nothing leads to them; they count for every dataset of a
process, but only if they differ from the library's defaults, so that a job that loads a library
later keeps its name. To add one: a line in `_SWITCHES`. Random seeds are not switches: workers get
their own.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class Switch(NamedTuple):
    """One switch of a library."""

    name: str
    module: str  # that has it; looked at only if it is loaded
    value: Callable[[Any], Any]  # of the module
    default: Any


_SWITCHES = [
    Switch(
        "torch default dtype",
        "torch",
        lambda torch: str(torch.get_default_dtype()),
        "torch.float32",
    ),
    Switch("torch default device", "torch", lambda torch: str(torch.get_default_device()), "cpu"),
    Switch(
        "torch float32 matmul precision",
        "torch",
        lambda torch: torch.get_float32_matmul_precision(),
        "highest",
    ),
    Switch(
        "torchvision image backend",
        "torchvision",
        lambda vision: vision.get_image_backend(),
        "PIL",
    ),
    Switch(
        "PIL.ImageFile.LOAD_TRUNCATED_IMAGES",
        "PIL.ImageFile",
        lambda file: file.LOAD_TRUNCATED_IMAGES,
        False,
    ),
    Switch(
        "PIL.Image.MAX_IMAGE_PIXELS",
        "PIL.Image",
        lambda image: image.MAX_IMAGE_PIXELS,
        1024**3 // 4 // 3,
    ),
    Switch("cv2.useOptimized()", "cv2", lambda cv2: cv2.useOptimized(), True),
]


def changed_switches() -> list[tuple[str, str]]:
    """Return name and value of each switch that differs from its library's default."""
    found = []
    for switch in _SWITCHES:
        module = sys.modules.get(switch.module)
        if module is None:
            continue
        try:
            value = switch.value(module)
        except AttributeError:  # a version without it, or one that is only half imported
            continue
        except RuntimeError as error:  # a device that cannot be used in this process
            value = str(error)
        if value != switch.default:
            found.append((switch.name, repr(value)))
    return found
