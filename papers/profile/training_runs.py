"""Trains a network for a moment with the data on the device, and says how long a step takes.

What a step does is counted first, operation by operation, with torch's own flop counter: once with
a small batch and once with twice as much, so what grows with the batch is told from what does not.
"""

import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from torch.utils.flop_counter import flop_registry

from papers.models.runs import Architecture, Operation, TrainingRun
from papers.profile.architectures import CLASSES, build

_COUNTED_BATCH = 4
_WARM_STEPS = 3
_PARTS = 5  # of a run
PIXELS = {"cuda": 224, "cpu": 64}


class Trainer:
    """A network, its optimizer, and what a step consists of."""

    def __init__(self, name: str, device: str) -> None:
        """Build it and count its operations."""
        if device == "cpu":
            # Several wait for each other after each operation: beside other programs that takes
            # 100 times as long, and says nothing of the machine.
            torch.set_num_threads(1)
        torch.manual_seed(0)
        self._name, self._device = name, device
        self._network = build(name, device)
        self._optimizer = torch.optim.SGD(self._network.parameters(), lr=1e-3, momentum=0.9)
        self._loss = torch.nn.CrossEntropyLoss()
        self._step(*self._data(_COUNTED_BATCH))  # so that the optimizer has its state
        self.architecture = Architecture(
            name,
            sum(one.numel() for one in self._network.parameters()),
            _operations(self._counted(_COUNTED_BATCH), self._counted(2 * _COUNTED_BATCH)),
        )

    def run(self, batch: int, seconds: float) -> TrainingRun:
        """Return how long a step takes, by parts of a run of about so many seconds."""
        data = self._data(batch)
        for _ in range(_WARM_STEPS):
            self._step(*data)
        steps, part_s = 1, 0.0
        while part_s < seconds / _PARTS / 2:
            part_s = self._timed(data, steps)
            steps = max(steps, min(steps * 4, round(steps * seconds / _PARTS / part_s)))
        found = [self._timed(data, steps) / steps for _ in range(_PARTS)]
        # Other programs on the same processor only ever make it slower, by what they leave of its
        # caches; on a GPU clocks go up and down.
        usual = min if self._device == "cpu" else statistics.median
        return TrainingRun(self._name, batch, usual(found))

    def _data(self, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        pixels = PIXELS[self._device]
        pictures = torch.randn(batch, 3, pixels, pixels, device=self._device)
        return pictures, torch.randint(CLASSES, (batch,), device=self._device)

    def _step(self, pictures: torch.Tensor, labels: torch.Tensor) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        self._loss(self._network(pictures), labels).backward()
        self._optimizer.step()

    def _timed(self, data: tuple[torch.Tensor, torch.Tensor], steps: int) -> float:
        begun = self._now()
        for _ in range(steps):
            self._step(*data)
        return self._now() - begun

    def _now(self) -> float:
        """Return the time when all is done; on a processor, that which this process has had.

        Other programs may have the processor for most of the time, but not the GPU.
        """
        if self._device != "cuda":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def _counted(self, batch: int) -> list[tuple[float, float]]:
        with _Counting() as counting:
            self._step(*self._data(batch))
        seen: list[tuple[float, float]] = counting.seen
        return seen


class _Counting(TorchDispatchMode):  # type: ignore[misc]
    """Notes of every operation how many flops it has, and how many bytes go in and out."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[float, float]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found = func(*args, **kwargs)
        if getattr(func, "is_view", False) or not _moves_data(func):
            return found
        count: Callable[..., Any] | None = flop_registry.get(func.overloadpacket)
        flops = float(count(*args, **kwargs, out_val=found)) if count is not None else 0.0
        moved = {id(one): one for one in tree_iter((args, kwargs, found)) if _is_tensor(one)}
        size_bytes = sum(one.numel() * one.element_size() for one in moved.values())
        self.seen.append((flops, float(size_bytes)))
        return found


def _moves_data(func: Any) -> bool:
    # Neither runs anything on a device.
    return func.overloadpacket not in (torch.ops.aten.detach, torch.ops.aten.empty)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _operations(
    small: list[tuple[float, float]], large: list[tuple[float, float]]
) -> tuple[Operation, ...]:
    """Return what a step consists of, from steps of two batches; equal ones are counted."""
    found: Counter[tuple[float, float, float]] = Counter()
    for (flops, few_bytes), (_, many_bytes) in zip(small, large, strict=True):
        each = (many_bytes - few_bytes) / _COUNTED_BATCH
        found[flops / _COUNTED_BATCH, each, few_bytes - each * _COUNTED_BATCH] += 1
    return tuple(Operation(count, *kind) for kind, count in found.items())
