"""Batches on their way to a GPU while the one before is trained on.

One batch ahead, on a stream of its own: the copy from pinned memory and the batch steps run beside
the training step. The consumer's stream waits for them, not the CPU; memory is not given away while
the consumer still uses it (`record_stream`). Without a GPU it only moves batches.

    for images, labels in joader.DevicePrefetcher(loader, "cuda", batch_transform=steps):
        ...
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from joader.errors import MissingExtra, to_install


class DevicePrefetcher:
    """Iterate over the batches of a loader on a device, one ahead.

    Give the loader `pin_memory=True`: from other memory copies cannot run beside anything.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        device: Any = "cuda",
        batch_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        """Wrap a loader; `batch_transform` is applied on the device."""
        try:
            import torch
        except ImportError as error:
            raise MissingExtra(f"a prefetcher needs torch: {to_install('torch')}") from error
        self.loader = loader
        self.device = torch.device(device)
        self._torch = torch
        self._transform = batch_transform

    def __len__(self) -> int:
        """Return the number of batches of a pass."""
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        """Begin a pass."""
        if self.device.type != "cuda":
            yield from map(self._moved, self.loader)
            return
        cuda = self._torch.cuda
        side = cuda.Stream(self.device)
        ahead: tuple[Any, Any] | None = None  # a batch, and when it is there
        for batch in self.loader:
            with cuda.stream(side):
                following = self._moved(batch), side.record_event()
            if ahead is not None:
                yield self._handed_over(*ahead)
            ahead = following
        if ahead is not None:
            yield self._handed_over(*ahead)

    def _moved(self, batch: Any) -> Any:
        moved = _each_tensor(
            batch, lambda tensor: tensor.to(self.device, non_blocking=True), self._torch.Tensor
        )
        return self._transform(moved) if self._transform else moved

    def _handed_over(self, batch: Any, there: Any) -> Any:
        """Let the consumer's stream wait for the batch, and keep its memory until that is done."""
        stream = self._torch.cuda.current_stream(self.device)
        stream.wait_event(there)

        def keep(tensor: Any) -> Any:
            tensor.record_stream(stream)
            return tensor

        return _each_tensor(batch, keep, self._torch.Tensor)


def _each_tensor(batch: Any, change: Callable[[Any], Any], kind: type) -> Any:
    """Return the batch with every tensor in it changed."""
    if isinstance(batch, kind):
        return change(batch)
    if isinstance(batch, Mapping):
        return {name: _each_tensor(value, change, kind) for name, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_each_tensor(value, change, kind) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(_each_tensor(value, change, kind) for value in batch)
    return batch
