"""What a loader's arguments may be, checked before anything is done with them."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from joader.errors import BadArgument
from joader.images import Step, Steps
from joader.sampling.sampler import checked_seed

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
    fallback: bool,
    counts: Mapping[str, object],
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
    if not isinstance(fallback, bool):
        raise BadArgument(f"fallback is {fallback!r}; it is True or False")
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 0):
            raise BadArgument(f"{name} is {count!r}; it is an integer >= 0")
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


def check_dataset(dataset: object) -> None:
    """Refuse a dict whose keys are not its positions: there would be nothing to draw."""
    if isinstance(dataset, Mapping) and any(key not in dataset for key in range(len(dataset))):
        raise BadArgument(
            f"the dataset is a {type(dataset).__name__} whose keys are not 0 to {len(dataset) - 1};"
            " give a list, or a dataset whose __getitem__ takes the number of a row"
        )


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
