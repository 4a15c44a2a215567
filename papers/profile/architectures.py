"""Networks of A-Dloader's workload (Section IV-A) and of other kinds, in plain torch.

VGG and ResNet of several depths, each also 2× and 4× narrower ("md", "sm"), as the paper has them,
and three of other kinds. torchvision's are taken, too, where it is installed. On a processor all
are smaller: the same shapes, an eighth of the width.
"""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from joader.errors import BadArgument


class Kind(NamedTuple):
    """A network by name; `build` gets its width, and the classes it tells apart."""

    name: str
    build: Callable[[int, int], Any]
    narrower: int = 1


CLASSES = 100
_WIDTH = {"cuda": 64, "cpu": 8}
_OF_TORCHVISION = ("resnet50", "densenet121", "mobilenet_v3_large", "regnet_y_800mf")


def _conv(inputs: int, outputs: int, stride: int = 1, groups: int = 1, size: int = 3) -> Any:
    from torch import nn

    padding = size // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, padding, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


def _head(features: int, classes: int) -> list[Any]:
    from torch import nn

    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, classes)]


def _residual(body: Any, shortcut: Any) -> Any:
    from torch import nn

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body, self.shortcut = body, shortcut

        def forward(self, x: Any) -> Any:
            return self.body(x) + self.shortcut(x)

    return Residual()


def resnet(blocks: tuple[int, int, int, int]) -> Callable[[int, int], Any]:
    """Return a ResNet of basic blocks, so many in each of its four stages."""

    def build(width: int, classes: int) -> Any:
        from torch import nn

        layers: list[Any] = [_conv(3, width, 2, size=7), nn.MaxPool2d(3, 2, 1)]
        inputs = width
        for stage, count in enumerate(blocks):
            for block in range(count):
                outputs, stride = width << stage, 2 if stage and not block else 1
                body = nn.Sequential(_conv(inputs, outputs, stride), _conv(outputs, outputs))
                same = inputs == outputs and stride == 1
                shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride)
                layers.append(_residual(body, shortcut))
                inputs = outputs
        return nn.Sequential(*layers, *_head(inputs, classes))

    return build


def vgg(layers_of_stage: tuple[int, ...]) -> Callable[[int, int], Any]:
    """Return a VGG with so many convolutions between its poolings."""

    def build(width: int, classes: int) -> Any:
        from torch import nn

        layers: list[Any] = []
        inputs = 3
        for stage, count in enumerate(layers_of_stage):
            outputs = width << min(stage, 3)
            for _ in range(count):
                layers.append(_conv(inputs, outputs))
                inputs = outputs
            layers.append(nn.MaxPool2d(2))
        return nn.Sequential(*layers, *_head(inputs, classes))

    return build


def depthwise(width: int, classes: int) -> Any:
    """Return a network of separable convolutions: few operations per byte."""
    from torch import nn

    layers: list[Any] = [_conv(3, width, 2)]
    for stage in range(4):
        inputs, outputs = width << max(0, stage - 1), width << stage
        layers += [_conv(inputs, inputs, 2, groups=inputs), _conv(inputs, outputs, size=1)]
        layers += [_conv(outputs, outputs, groups=outputs), _conv(outputs, outputs, size=1)]
    return nn.Sequential(*layers, *_head(width << 3, classes))


def patches(width: int, classes: int) -> Any:
    """Return a vision transformer of six layers on patches of 16 × 16."""
    from torch import nn

    class Patches(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            size = 6 * width
            self.embed = nn.Conv2d(3, size, 16, 16)
            layer = nn.TransformerEncoderLayer(
                size, max(1, width // 8), 4 * size, 0.0, "gelu", batch_first=True
            )
            self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
            self.head = nn.Linear(size, classes)

        def forward(self, x: Any) -> Any:
            rows = self.embed(x).flatten(2).transpose(1, 2)
            return self.head(self.layers(rows).mean(1))

    return Patches()


def perceptron(width: int, classes: int) -> Any:
    """Return a multilayer perceptron on small pictures: many parameters, few operations."""
    from torch import nn

    size = 32 * width
    layers: list[Any] = [nn.AdaptiveAvgPool2d(16), nn.Flatten(), nn.Linear(768, size), nn.ReLU()]
    for _ in range(4):
        layers += [nn.Linear(size, size), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(size, classes))


_PLAIN = {
    "resnet10": resnet((1, 1, 1, 1)),
    "resnet18": resnet((2, 2, 2, 2)),
    "resnet34": resnet((3, 4, 6, 3)),
    "vgg7": vgg((1, 1, 2, 2)),
    "vgg11": vgg((1, 1, 2, 2, 2)),
    "vgg13": vgg((2, 2, 2, 2, 2)),
}
_OTHERS: dict[str, Callable[[int, int], Any]] = {
    "depthwise": depthwise,
    "patches": patches,
    "perceptron": perceptron,
}
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        *(Kind(name, build) for name, build in _PLAIN.items()),
        *(Kind(f"md{name}", build, 2) for name, build in _PLAIN.items()),
        *(Kind(f"sm{name}", build, 4) for name, build in _PLAIN.items()),
        *(Kind(name, build) for name, build in _OTHERS.items()),
    )
}


def of_the_paper(name: str) -> bool:
    """Tell whether a network is of A-Dloader's workload: a VGG or ResNet of ours."""
    return name in KINDS and name not in _OTHERS


def names(device: str) -> list[str]:
    """Return all networks that can be built here, those that `--quick` takes first."""
    theirs = [f"torchvision:{name}" for name in _OF_TORCHVISION] if _has_torchvision(device) else []
    first = ["resnet18", "mdvgg11", "smresnet10", "depthwise", "vgg7", "mdresnet34"]
    return [*first, *(name for name in KINDS if name not in first), *theirs]


def checked_names(asked: list[str], device: str) -> list[str]:
    """Return the names that were asked for; BadArgument if one is unknown."""
    known = names(device)
    for name in asked:
        if name not in known:
            raise BadArgument(
                f"there is no architecture {name!r}; use some of {', '.join(sorted(known))}"
            )
    return list(dict.fromkeys(asked)) or known


def build(name: str, device: str) -> Any:
    """Return a network, on its device."""
    if name.startswith("torchvision:"):
        import torchvision.models

        network = torchvision.models.get_model(name.partition(":")[2], num_classes=CLASSES)
    else:
        kind = KINDS[name]
        network = kind.build(_WIDTH[device] // kind.narrower, CLASSES)
    return network.to(device)


def _has_torchvision(device: str) -> bool:
    return device == "cuda" and find_spec("torchvision") is not None
