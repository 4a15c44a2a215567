"""The samplers and policies that can be simulated, by name."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from joader.cache import (
    ExpectedUse,
    Fifo,
    Lru,
    MakePolicy,
    RandomReplacement,
    RefCount,
)
from joader.errors import BadArgument
from joader.sampling import (
    DependentSampler,
    IndependentSampler,
    LockstepSampler,
    Sampler,
    SeededSampler,
    SequentialSampler,
    StreamSampler,
)

T = TypeVar("T")

SAMPLERS: Mapping[str, Callable[[int], Sampler]] = {
    "dependent": DependentSampler,
    "paper": lambda seed: DependentSampler(seed, rule="paper"),
    "common": lambda seed: DependentSampler(seed, rule="common"),
    "independent": IndependentSampler,
    "seeded": SeededSampler,
    "lockstep": LockstepSampler,
    "sequential": lambda seed: SequentialSampler(),
    "streams": StreamSampler,
}
# Orders that do not depend on other jobs: the engine is told so, as the daemon does.
OWN_ORDERS = {"seeded": "seeded", "sequential": "given"}
POLICIES: Mapping[str, Callable[[int], MakePolicy]] = {
    "refcount": lambda seed: RefCount,
    "expected": lambda seed: ExpectedUse,
    "lru": lambda seed: Lru,
    "fifo": lambda seed: Fifo,
    "random": lambda seed: partial(RandomReplacement, seed=seed),
}


def chosen_sampler(choice: str | Sampler, seed: int) -> tuple[Sampler, str]:
    """Return the sampler of this name, or the object itself, and the order a job asks for."""
    sampler = _chosen(choice, SAMPLERS, "sampler", "draw", seed)
    if isinstance(choice, str) and choice in OWN_ORDERS:
        return sampler, OWN_ORDERS[choice]
    return sampler, "shared" if isinstance(sampler, StreamSampler) else "joint"


def chosen_policy(choice: str | MakePolicy, seed: int) -> MakePolicy:
    """Return what makes policies of this name, or the class itself."""
    if not isinstance(choice, str):
        if not callable(choice):
            raise BadArgument(
                f"policy is {choice!r}; give the class of one, or one of {', '.join(POLICIES)}"
            )
        return choice
    return _chosen(choice, POLICIES, "policy", "victims", seed)


def _chosen(
    choice: str | T, known: Mapping[str, Callable[[int], T]], what: str, method: str, seed: int
) -> T:
    """Return what this name stands for, or the object itself if it has the method."""
    if not isinstance(choice, str):
        if not callable(getattr(choice, method, None)) or isinstance(choice, type):
            raise BadArgument(f"{what} is {choice!r}; give a {what} or one of {', '.join(known)}")
        return choice
    if choice not in known:
        raise BadArgument(f"{what} is {choice!r}; use one of {', '.join(known)}")
    return known[choice](seed)
