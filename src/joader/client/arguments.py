"""A loader's arguments as one value, checked before anything is done with them.

Not here: what a loader shows of them (loader.py), whether its dataset can be shared
(dataset/obstacle.py).
"""

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from joader.client.script import script
from joader.errors import BadArgument, UnknownArgument
from joader.images import Step, Steps
from joader.messages.settings import JobSettings
from joader.sampling.sampler import checked_seed
from joader.schedule.shares.weight import checked_weight

if TYPE_CHECKING:
    from inspect import Signature

Order: TypeAlias = Literal["shared", "joint", "seeded"]
OnError: TypeAlias = Literal["raise", "skip", "replace"]
ORDERS: tuple[Order, ...] = get_args(Order)
ON_ERROR: tuple[OnError, ...] = get_args(OnError)
DEFAULT_TIMEOUT_S = 120.0
# What was looked at when the loader was made: as in torch's, it cannot be changed any more.
FIXED = {
    *("dataset", "batch_size", "sampler", "batch_sampler", "drop_last", "persistent_workers"),
    *("worker_init_fn", "prepare", "transform", "seed", "order", "deterministic", "key", "job"),
    *("on_error", "fallback", "where", "columns", "version", "lend", "weight", "locality"),
}
# Subclasses replace it (ultralytics, timm: an endless one), each in its own way.
REPLACEABLE = {"batch_sampler"}


@dataclass(frozen=True)
class Arguments:
    """What the user gave; the class docstring of the loader says what each is."""

    dataset: Any
    batch_size: int | None
    shuffle: bool | None
    sampler: Any
    batch_sampler: Any
    num_workers: int | None
    collate_fn: Callable[[Any], Any] | None
    pin_memory: bool
    drop_last: bool
    timeout: float
    worker_init_fn: Callable[[int], None] | None
    multiprocessing_context: Any
    generator: Any
    prefetch_factor: int | None
    persistent_workers: bool
    pin_memory_device: str
    in_order: bool
    prepare: Any
    transform: Any
    batch_transform: Callable[[Any], Any] | None
    seed: int | None
    order: Order
    deterministic: bool
    key: str | None
    job: str | None
    address: str | None
    as_numpy: bool
    on_error: OnError
    fallback: bool
    lend: bool
    weight: float
    locality: bool | None
    where: Any
    columns: Sequence[str] | None
    version: int | None

    @property
    def chosen(self) -> Any:
        """The sampler or the batch sampler that the user gave."""
        return self.batch_sampler if self.sampler is None else self.sampler

    @property
    def name(self) -> str:
        """What the job is called: as the user says, or as its script."""
        return self.job or script()

    def for_the_daemon(self, *, streams: bool) -> JobSettings:
        """Return those that the daemon acts on; `streams`: their order follows one of its streams.

        In another order rows do not come when other jobs on their nodes want them, too.
        """
        return JobSettings(
            self.name,
            weight=float(self.weight),
            lend=self.lend,
            locality=bool(streams if self.locality is None else self.locality),
            timeout_s=self.timeout or DEFAULT_TIMEOUT_S,  # 0 is torch's "for ever"
        )

    def check(self) -> None:
        """Say what is wrong with them, one by one and then together."""
        _check_order(self)
        _check_kinds(self)
        _check_batches(self)


class CallSignature:
    """The signature of a class as its `__init__` has it, also that of a subclass."""

    def __get__(self, _instance: object, owner: type) -> "Signature":
        """Return it; `inspect` is loaded by whoever asks."""
        from inspect import signature

        found = signature(owner.__init__)  # type: ignore[misc]
        return found.replace(parameters=list(found.parameters.values())[1:])


def check_names(named: Iterable[str], function: Callable[..., Any]) -> None:
    """Say which argument was meant by one that a function does not have."""
    code = function.__code__
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    for name in named:
        if name not in known:
            raise UnknownArgument(f"DataLoader has no argument {name!r}; {_meant(name, known)}")


def _meant(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    # Without underscores: who leaves one out is closest to the right name.
    plain = {one.replace("_", ""): one for one in known}
    found = get_close_matches(name.lower().replace("_", ""), plain, n=1)
    return f"did you mean {plain[found[0]]}?" if found else "help(joader.DataLoader) lists them"


# Where torch's loader refuses the same, a message begins as its message does: scripts look for it.


def _check_order(given: Arguments) -> None:
    size = given.batch_size
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise BadArgument(
            f"batch_size should be a positive integer value, but got batch_size={size!r}; or give "
            "None, for single samples"
        )
    if given.shuffle not in (None, True, False):
        raise BadArgument(f"shuffle is {given.shuffle!r}; it is True or False")
    if given.order not in ORDERS:
        raise BadArgument(f"order is {given.order!r}; there are {', '.join(ORDERS)}")
    if given.seed is not None and checked_seed(given.seed) >= 2**64:
        raise BadArgument(f"seed is {given.seed!r}; a seed is an integer below 2**64")


def _check_kinds(given: Arguments) -> None:
    # Not `timeout < 0`: that lets NaN through.
    if not isinstance(given.timeout, Real) or not given.timeout >= 0:
        raise BadArgument(
            f"timeout option should be non-negative, but got timeout={given.timeout!r}; it is in "
            "seconds, 120 by default"
        )
    if given.on_error not in ON_ERROR:
        raise BadArgument(f"on_error is {given.on_error!r}; there are {', '.join(ON_ERROR)}")
    checked_weight(given.weight)
    for name in ("fallback", "lend"):
        if not isinstance(getattr(given, name), bool):
            raise BadArgument(f"{name} is {getattr(given, name)!r}; it is True or False")
    if given.locality not in (None, True, False):
        raise BadArgument(f"locality is {given.locality!r}; it is True, False or None")
    for name in ("num_workers", "prefetch_factor"):
        count = getattr(given, name)
        if count is not None and (not isinstance(count, int) or count < 0):
            raise BadArgument(
                f"{name} option should be non-negative, but got {name}={count!r}; use an integer "
                "from 0, or leave it out"
            )
    # As torch: without workers these would have no effect.
    of_workers = {
        "prefetch_factor option could only be specified in multiprocessing": given.prefetch_factor,
        "persistent_workers option needs num_workers > 0": given.persistent_workers or None,
        "multiprocessing_context can only be used with multi-process loading (num_workers > 0)": (
            given.multiprocessing_context
        ),
    }
    for refusal, value in of_workers.items():
        if value is not None and not given.num_workers:
            raise BadArgument(
                f"{refusal}, but got {refusal.split()[0]}={value!r} and "
                f"num_workers={given.num_workers!r}; give num_workers=, too"
            )
    method, methods = given.multiprocessing_context, multiprocessing.get_all_start_methods()
    if isinstance(method, str) and method not in methods:
        raise BadArgument(
            f"multiprocessing_context option should specify a valid start method in {methods!r}, "
            f"but got multiprocessing_context={method!r}"
        )
    for name in ("key", "job"):
        text = getattr(given, name)
        if text is not None and not isinstance(text, str):
            raise BadArgument(f"{name} is {text!r}; it is a text, or None")
    for name in ("collate_fn", "batch_transform", "worker_init_fn"):
        function = getattr(given, name)
        if function is not None and not callable(function):
            raise BadArgument(f"{name} is {function!r}; it is a function, or None")


def _check_batches(given: Arguments) -> None:
    if given.sampler is not None and given.shuffle:
        raise BadArgument(
            "sampler option is mutually exclusive with shuffle: a sampler is the order; leave out "
            "one of them"
        )
    others = given.batch_size != 1 or given.shuffle or given.sampler is not None or given.drop_last
    if given.batch_sampler is not None and others:
        raise BadArgument(
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
            "drop_last: it is all of them; leave them out"
        )
    if given.batch_size is None and given.drop_last:
        raise BadArgument(
            "batch_size=None option disables auto-batching and is mutually exclusive with "
            "drop_last: there are no batches; leave out one of them"
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
