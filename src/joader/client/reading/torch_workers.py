"""A pass without a daemon, with as many worker processes as the user gave: torch's loader inside.

The order is the pass's own (no_daemon.py): torch's workers get rows and the start of their random
numbers, and return samples as objects. So batches are those that the job would read by itself, but
sooner.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from secrets import randbits
from typing import Any

from joader.client import torch_api
from joader.client.reading.in_job import InJob, own_copy
from joader.client.reading.job import Job
from joader.messages import Deliver
from joader.workers.complaint import complaint

Request = tuple[Deliver, list[tuple[int, int]]]  # a batch, and its rows with their keys


@dataclass(frozen=True)
class Failed:
    """A row that could not be prepared, and why."""

    reason: str


class _Rows:
    """The rows of a job as a dataset whose keys are (row, where its random numbers start)."""

    def __init__(self, job: Job) -> None:
        self._reader = InJob(job.shared, job.own, keyed=True, as_worker=False)

    def __getitem__(self, key: tuple[int, int]) -> Any:
        try:
            # torch sends it from another thread, when the next row may be under way already, and
            # would make a tensor that the dataset keeps one that job and worker share.
            return own_copy(self._reader.sample(*key))
        except Exception as error:  # the user's code; what becomes of it is decided in the job
            return Failed(complaint(error, self._reader.at, __file__))


class InWorkers:
    """Batches of samples from torch's workers, in the order they are asked for."""

    def __init__(self, job: Job, requests: Iterator[Request], timeout_s: float) -> None:
        """Read what `requests` gives; torch asks for it as far ahead as it does."""
        assert job.lending is not None
        self._asked: deque[Deliver] = deque()
        torch = torch_api.loaded()
        loader = torch_api.original_loader()(
            _Rows(job),
            batch_sampler=_Keys(requests, self._asked),
            num_workers=job.lending.shown,
            collate_fn=list,
            worker_init_fn=job.shared.worker_init_fn,
            multiprocessing_context=job.lending.context,
            # The job's own generator was drawn from for this pass already (torch_api.advance).
            generator=torch.Generator().manual_seed(randbits(63)),
            timeout=timeout_s,
        )
        self._batches = iter(loader)

    def next(self) -> tuple[Deliver, dict[int, Any]]:
        """Return the next batch, and its samples by place."""
        # torch keeps the order (in_order), so batches come as they were asked for.
        samples = next(self._batches)
        return self._asked.popleft(), dict(enumerate(samples))


class _Keys:
    """What torch takes for a batch sampler.

    It does not know the `InWorkers` that owns it: torch's processes end with the last reference to
    their iterator, and a ring would keep them until the garbage collector comes by.
    """

    def __init__(self, requests: Iterator[Request], asked: "deque[Deliver]") -> None:
        self._requests, self._asked = requests, asked

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for batch, rows in self._requests:
            self._asked.append(batch)
            yield rows
