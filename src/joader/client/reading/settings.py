"""What a loader was made with, as far as its job depends on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joader.client.arguments import Arguments
from joader.client.order.ordering import Ordering
from joader.client.order.source import random_key
from joader.client.ranks import Rank
from joader.images import Steps
from joader.messages import JobSettings


@dataclass(frozen=True)
class Settings:
    """One value: a loader that gets other settings is another job."""

    job: JobSettings  # what the daemon is told of them
    key: str | None
    prepare: Steps
    transform: Steps
    worker_init_fn: Callable[[int], None] | None
    deterministic: bool
    private: bool  # its random samples are its alone, though the daemon does not draw them
    seed: int | None  # of the order "seeded", or as given
    drop_last: bool
    rank: Rank | None
    whose: str  # the loader's name, or that of all its ranks
    num_workers: int | None
    context: Any
    fallback: bool = True  # without a daemon the job goes on by itself
    alone: bool = False  # it shares nothing: its rows were seen to differ from others'
    keeps_state: bool = False  # its dataset changes when it is read: it brings no workers
    # Its rows are: it needs no daemon unless it is to bring workers. None: nobody knows.
    at_hand: bool | None = None

    @property
    def bare(self) -> bool:
        """Whether a sample is a row of the dataset as it is."""
        return not (self.prepare.steps or self.transform.steps or self.worker_init_fn)


def settings_of(given: Arguments, ordering: Ordering, steps: tuple[Steps, Steps]) -> Settings:
    """Return the settings that a loader is made with; `steps` are to prepare and to transform."""
    rank, workers = ordering.rank, given.num_workers
    return Settings(
        job=given.for_the_daemon(streams=ordering.shuffle and ordering.order == "shared"),
        key=given.key,
        prepare=steps[0],
        transform=steps[1],
        worker_init_fn=given.worker_init_fn,
        deterministic=given.deterministic,
        # In the daemon only the order "seeded" keeps a job's random numbers its own.
        private=ordering.seeded and ordering.given_name != "seeded",
        seed=ordering.seed if ordering.seeded else given.seed,
        drop_last=given.drop_last,
        rank=rank,
        whose=str(rank.team if rank else random_key()),
        num_workers=None if workers is None else int(workers),
        fallback=given.fallback,
        context=given.multiprocessing_context,
    )
