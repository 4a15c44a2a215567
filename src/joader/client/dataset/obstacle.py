"""What keeps a dataset from being shared sample by sample.

Torch's loader reads more than datasets with rows: streams, keys of any kind, whole batches at once.
None of that can be drawn, or prepared once for several jobs. It is not refused: torch's own loader
reads it (reading/torch_inside.py), and this says why.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from joader.catalog import Table, View
from joader.storage import Storage
from joader.storage.hugging_face import is_dataset


def obstacle_to_sharing(dataset: Any, batch_size: int | None, chosen: Any) -> str:
    """Say why a dataset cannot be shared sample by sample; "" if it can.

    `chosen` is the sampler or batch sampler that the user gave.
    """
    kind = type(dataset).__name__
    stream = getattr(sys.modules.get("torch.utils.data.dataset"), "IterableDataset", None)
    if stream is not None and isinstance(dataset, stream):
        return f"the dataset is a {kind}, which is read from front to end"
    if not hasattr(type(dataset), "__getitem__"):
        return f"the dataset is a {kind}, which has no rows"
    batches = getattr(sys.modules.get("torch.utils.data.sampler"), "BatchSampler", None)
    if batch_size is None and batches is not None and isinstance(chosen, batches):
        return "with batch_size=None the sampler gives whole batches of keys"
    if isinstance(dataset, Mapping) and any(key not in dataset for key in range(len(dataset))):
        return f"the dataset is a {kind} whose keys are not 0 to {len(dataset) - 1}"
    if not hasattr(type(dataset), "__len__") and chosen is not None:
        return f"the dataset is a {kind} without a length"
    if isinstance(chosen, list | tuple) and _has_other_keys(chosen, len(dataset)):
        return "the sampler gives keys that are not row numbers"
    if batch_size is not None and _gives_batches(dataset):
        return f"the dataset is a {kind} whose __getitems__ gives whole batches"
    return ""


def _has_other_keys(chosen: Sequence[Any], length: int) -> bool:
    """Tell whether a list of keys, or of batches of them, has others than the dataset's rows."""
    keys = [k for key in chosen for k in (key if isinstance(key, list | tuple) else [key])]
    return any(isinstance(key, int) and not -length <= key < length for key in keys)


def _gives_batches(dataset: Any) -> bool:
    """Tell whether torch would ask a dataset for whole batches, which may differ from its rows."""
    # torch's Subset has a __getitems__ too, which passes on to what it wraps.
    while type(dataset).__module__ == "torch.utils.data.dataset" and hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    if isinstance(dataset, Storage | Table | View):
        return False
    if is_dataset(dataset):  # rows of a Hugging Face dataset, unless a function sees the batch
        return bool(getattr(dataset, "_format_type", None) == "custom")
    return callable(getattr(type(dataset), "__getitems__", None))
