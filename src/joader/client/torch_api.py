"""What the loader takes from torch, if torch is loaded: its class, samplers, collate, pinning.

`joader.DataLoader` is a plain class. Made in a process that has imported torch, a loader is of a
subclass of both, so that `isinstance(loader, torch.utils.data.DataLoader)` holds and frameworks
know it. torch's own `__init__` and iterators never run. torch is never imported here.

Scripts put our loader in the place of torch's, so that libraries get it, too. So nothing in joader
takes what `torch.utils.data.DataLoader` stands for now to be torch's.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Generic


def loaded() -> Any:
    """Return torch if this process has imported it, else None."""
    torch = sys.modules.get("torch")
    # During `import torch` itself it is there, but not ready.
    return torch if torch is not None and "torch.utils.data" in sys.modules else None


@cache
def original_loader() -> Any:
    """Return torch's own loader class, whatever its names stand for now."""
    data = sys.modules["torch"].utils.data
    # It is generic, so Generic knows it even if both names were replaced before the first call.
    known = (data.DataLoader, data.dataloader.DataLoader, *Generic.__subclasses__())
    name = "torch.utils.data.dataloader", "DataLoader"
    return next(
        one
        for one in known
        if (getattr(one, "__module__", ""), getattr(one, "__qualname__", "")) == name
    )


_joined: dict[type, type] = {}


def joined(loader_class: type) -> type:
    """Return the class that is both this one and torch's; the same for each."""
    if loaded() is None or issubclass(loader_class, original_loader()):
        return loader_class
    if loader_class not in _joined:
        # Pickled by name, the loader's own class is found as users find it (joader/__init__.py).
        ours = loader_class.__module__ == "joader.client.loader"
        names = {
            "__module__": "joader" if ours else loader_class.__module__,
            "__qualname__": loader_class.__qualname__,
            "__doc__": loader_class.__doc__,
            "plain_class": loader_class,
        }
        bases = (loader_class, original_loader())
        _joined[loader_class] = type(loader_class.__name__, bases, names)
    return _joined[loader_class]


def collate_of(singly: bool) -> Callable[[Any], Any] | None:
    """Return how torch's loader collates if the user says nothing; None without torch."""
    torch = loaded()
    if torch is None:
        return None
    data = torch.utils.data
    function: Callable[[Any], Any] = data.default_convert if singly else data.default_collate
    return function


def is_in_memory(dataset: Any) -> bool:
    """Tell whether a dataset is a tensor, or of torch's own class whose rows are parts of some."""
    torch = loaded()
    kinds = (torch.utils.data.TensorDataset, torch.Tensor) if torch is not None else ()
    return type(dataset) in kinds


def collate(samples: list[Any]) -> Any:
    """Collate as torch does; without torch, a batch is a list."""
    torch = loaded()
    return torch.utils.data.default_collate(samples) if torch else samples


def convert(sample: Any) -> Any:
    """Return a single sample as torch's loader gives it with batch_size=None."""
    torch = loaded()
    return torch.utils.data.default_convert(sample) if torch else sample


def can_pin() -> bool:
    """Tell whether there is a device that pinned memory is of use to."""
    torch = loaded()
    return torch is not None and bool(torch.cuda.is_available())


def pinned_bytes(size_bytes: int) -> Any:
    """Return pinned memory of torch's own: it is not used again before copies from it are done."""
    torch = sys.modules["torch"]
    return torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True)


def pinned(batch: Any) -> Any:
    """Return a batch in pinned memory, as torch's loader would make it."""
    from torch.utils.data._utils.pin_memory import pin_memory

    return pin_memory(batch)


def advance(generator: Any, *, seeds: bool, draws: bool) -> None:
    """Draw from the global generator as torch's loader does when a pass begins.

    It draws a seed for its workers, if they are new, and one more for a shuffled order: what a
    script draws after that is then the same with both loaders.
    """
    torch = loaded()
    if torch is not None:
        if seeds:
            torch.empty((), dtype=torch.int64).random_(generator=generator)
        if draws and generator is None:
            torch.empty((), dtype=torch.int64).random_()
