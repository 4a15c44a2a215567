"""A residual network of eight layers for small pictures, and how it is trained and tested.

Batch normalization may be done in parts: each node of a cluster normalizes by its own part of the
batch, and the statistics for the test are those of the first node, as torch's distributed training
has it. This is all in which it matters who trains on which row of a global batch.
"""

from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, pad

from papers.live.small_pictures import DEVIATION, MEAN, Part

SHIFT = 4  # pixels, at most, of the augmentation


class SplitNorm(nn.Module):  # type: ignore[misc, unused-ignore]
    """Batch normalization over each of `parts` equal parts of the batch by itself."""

    def __init__(self, width: int, parts: int) -> None:
        """Start as nn.BatchNorm2d does."""
        super().__init__()
        self.parts = parts
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x: Any) -> Any:
        """Normalize; while training by the part's own mean and variance."""
        if not self.training:
            factor = self.scale * (self.variance + 1e-5).rsqrt()
            return x * factor.view(1, -1, 1, 1) + (self.shift - self.mean * factor).view(
                1, -1, 1, 1
            )
        rows, width, high, wide = x.shape
        split = x.float().view(self.parts, rows // self.parts, width, high, wide)
        variance, mean = torch.var_mean(split, (1, 3, 4), correction=0)
        with torch.no_grad():  # of the first node, as torch keeps those of rank 0
            self.mean.lerp_(mean[0], 0.1)
            self.variance.lerp_(variance[0], 0.1)
        factor = self.scale * (variance + 1e-5).rsqrt()
        offset = self.shift - mean * factor
        shape = (self.parts, 1, width, 1, 1)
        return (split * factor.view(shape) + offset.view(shape)).view(x.shape).to(x.dtype)


class _Residual(nn.Module):  # type: ignore[misc, unused-ignore]
    def __init__(self, width: int, parts: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(_layer(width, width, parts), _layer(width, width, parts))

    def forward(self, x: Any) -> Any:
        return x + self.inner(x)


def _layer(before: int, after: int, parts: int, *more: Any) -> Any:
    convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
    norm = SplitNorm(after, parts) if parts > 1 else nn.BatchNorm2d(after)
    return nn.Sequential(convolution, norm, nn.ReLU(), *more)


def network(width: int = 32, parts: int = 1, classes: int = 10) -> Any:
    """Return the network; `width` is that of its first layer, 8 × as much that of its last."""
    one, two, four, eight = (width * times for times in (1, 2, 4, 8))
    return nn.Sequential(
        *(_layer(3, one, parts), _layer(one, two, parts, nn.MaxPool2d(2)), _Residual(two, parts)),
        *(_layer(two, four, parts, nn.MaxPool2d(2)), _layer(four, eight, parts, nn.MaxPool2d(2))),
        *(_Residual(eight, parts), nn.AdaptiveMaxPool2d(1), nn.Flatten()),
        nn.Linear(eight, classes),
    )


def device() -> str:
    """Return where to train."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def normalized(pictures: Any, where: str) -> Any:
    """Return bytes as numbers around 0."""
    mean, deviation = (
        torch.tensor(values, device=where).view(1, 3, 1, 1) for values in (MEAN, DEVIATION)
    )
    return (pictures.to(where, non_blocking=True).float() / 255 - mean) / deviation


def augmented(x: Any, generator: Any = None) -> Any:
    """Flip a batch or not, and shift it by some pixels, at random."""
    if torch.rand((), generator=generator) < 0.5:
        x = x.flip(3)
    top, left = torch.randint(0, 2 * SHIFT + 1, (2,), generator=generator).tolist()
    side = x.shape[-1]
    return pad(x, (SHIFT,) * 4)[:, :, top : top + side, left : left + side]


class Training:
    """A network with its optimizer, step by step."""

    def __init__(self, model: Any, steps: int, most_rate: float, where: str) -> None:
        """Be ready for so many steps; the rate rises to `most_rate` and falls to almost 0."""
        self.where = where
        self.model = model.to(where, memory_format=torch.channels_last)
        self._optimizer = torch.optim.SGD(
            self.model.parameters(), most_rate, momentum=0.9, nesterov=True, weight_decay=5e-4
        )
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, most_rate, steps, pct_start=0.3
        )

    def step(self, x: Any, labels: Any) -> Any:
        """Train on a batch; return its loss, still on the device."""
        with torch.autocast(self.where, torch.bfloat16, enabled=self.where == "cuda"):
            out = self.model(x.contiguous(memory_format=torch.channels_last))
            loss = cross_entropy(out.float(), labels.to(self.where), label_smoothing=0.1)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        self._optimizer.step()
        self._schedule.step()
        return loss.detach()

    def accuracy(self, test: Part) -> float:
        """Return which part of the test pictures it knows."""
        self.model.eval()
        right = 0
        with torch.no_grad():
            for first in range(0, len(test.y), 1000):
                x = normalized(torch.from_numpy(test.x[first : first + 1000]), self.where)
                found = self.model(x.contiguous(memory_format=torch.channels_last)).argmax(1)
                right += int((found.cpu().numpy() == test.y[first : first + 1000]).sum())
        self.model.train()
        return right / len(test.y)
