"""What a loader's arguments may be, checked before anything is done with them."""

import sys
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from joader.catalog import Table, View
from joader.errors import BadArgument
from joader.images import Step, Steps
from joader.sampling.sampler import checked_seed
from joader.storage import Storage
from joader.storage.hugging_face import is_dataset

ORDERS = ("shared", "seeded")
ON_ERROR = ("raise", "skip", "replace")


def check(
    *,
    batch_size: object,
    shuffle: object,
    sampler: object,
    batch_sampler: object,
    drop_last: object,
    order: str,
    seed: int | None,
    timeout: float,
    on_error: str,
    flags: Mapping[str, object],
    counts: Mapping[str, object],
    of_workers: Mapping[str, object],
    functions: Mapping[str, object],
    names: Mapping[str, object],
) -> bool:
    """Say what is wrong with a loader's arguments; return whether to shuffle."""
    if batch_size is not None and (
        isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1
    ):
        raise BadArgument(f"batch_size is {batch_size!r}; it is an integer above 0, or None")
    if shuffle not in (None, True, False):
        raise BadArgument(f"shuffle is {shuffle!r}; it is True or False")
    if order not in ORDERS:
        raise BadArgument(f"order is {order!r}; there are {', '.join(ORDERS)}")
    if seed is not None and checked_seed(seed) >= 2**64:
        raise BadArgument(f"seed is {seed!r}; a seed is an integer below 2**64")
    if not isinstance(timeout, Real) or not timeout >= 0:
        raise BadArgument(f"timeout is {timeout!r}; it is above 0, and 120 s by default")
    if on_error not in ON_ERROR:
        raise BadArgument(f"on_error is {on_error!r}; there are {', '.join(ON_ERROR)}")
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise BadArgument(f"{name} is {flag!r}; it is True or False")
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 0):
            raise BadArgument(f"{name} is {count!r}; it is an integer >= 0")
    for name, value in of_workers.items():
        if value is not None and not counts["num_workers"]:
            raise BadArgument(f"{name} is {value!r}; it is for workers, so give num_workers=, too")
    for name, text in names.items():
        if text is not None and not isinstance(text, str):
            raise BadArgument(f"{name} is {text!r}; it is a text, or None")
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise BadArgument(f"{name} is {function!r}; it is a function, or None")
    if sampler is not None and shuffle:
        raise BadArgument("sampler and shuffle=True exclude each other: a sampler is the order")
    if batch_sampler is not None and (
        batch_size != 1 or shuffle or sampler is not None or drop_last
    ):
        raise BadArgument(
            "batch_sampler excludes batch_size, shuffle, sampler and drop_last: it is all of them"
        )
    if batch_size is None and drop_last:
        raise BadArgument("batch_size=None excludes drop_last: there are no batches")
    return bool(shuffle)


def checked_dataset(dataset: Any, batch_size: int | None, chosen: Any) -> str:
    """Say why a dataset cannot be shared sample by sample; "" if it can.

    `chosen` is the sampler or batch sampler that the user gave. Whatever torch reads, it reads.
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
    while type(dataset).__module__ == "torch.utils.data.dataset" and hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    if isinstance(dataset, Storage | Table | View):
        return False
    if is_dataset(dataset):  # rows of a Hugging Face dataset, unless a function sees the batch
        return bool(getattr(dataset, "_format_type", None) == "custom")
    return callable(getattr(type(dataset), "__getitems__", None))


def steps_of(given: Any, name: str) -> Steps:
    """Return one step, a sequence of steps, or none as steps; what is shared must not be random."""
    if given is None:
        given = ()
    if isinstance(given, Steps):
        steps = given
    elif isinstance(given, Sequence) and not isinstance(given, str):
        steps = Steps(given)
    elif callable(given):
        steps = Steps([given])
    else:
        raise BadArgument(f"{name} is {given!r}; it is a function of a sample, or a list of them")
    if name == "prepare":
        random = next((s for s in steps.steps if isinstance(s, Step) and s.random), None)
        if random is not None:
            raise BadArgument(
                f"prepare has {random!r}, which is random: what jobs share must be the same for "
                "all; give it as transform="
            )
    return steps
