"""A training job: asks for batches ahead, takes one, trains on it, takes the next."""

from collections import deque
from collections.abc import Callable

from joader.client.order.ordering import AHEAD
from joader.messages import Begin, Deliver, Event, Leave, Release, Want
from joader.simulator.machine.clock import Clock
from joader.simulator.machine.resource import Resource
from joader.simulator.machine.workload import JobSpec


class Trainer:
    """One job, from its arrival to its end."""

    def __init__(
        self,
        clock: Clock,
        gpu: Resource,
        spec: JobSpec,
        number: int,
        say: Callable[[Event], None],
    ) -> None:
        """Be ready to start; `say` takes what it says to the daemon."""
        self.spec, self.number = spec, number
        self._clock, self._gpu, self._say = clock, gpu, say
        self._here: deque[Deliver] = deque()
        self._epoch = 0
        self._unasked = self._untaken = 0
        self._waits_since: float | None = None
        self._took_at: float | None = None
        self.begun_s = self.ended_s = self.wait_s = self.longest_wait_s = 0.0
        self.delivered = 0
        self.over = False

    def start(self) -> None:
        """Begin the first pass."""
        self.begun_s = self._clock.now
        self._begin()

    def _begin(self) -> None:
        self._unasked = self._untaken = self.spec.rows
        self._say(Begin(self.number, self._epoch, key=self._epoch + 1))
        for _ in range(AHEAD):
            self._ask(0.0, 0.0)
        self._waits_since = self._clock.now

    def _ask(self, step_s: float, wait_s: float) -> None:
        count = min(self.spec.batch, self._unasked)
        if count:
            self._unasked -= count
            now = self._clock.now
            self._say(Want(self.number, count, now=now, step_s=step_s, wait_s=wait_s))

    def deliver(self, batch: Deliver) -> None:
        """Take in a batch that has come."""
        self._here.append(batch)
        if self._waits_since is not None:
            self._take()

    def _take(self) -> None:
        now, batch = self._clock.now, self._here.popleft()
        wait_s = 0.0 if self._waits_since is None else now - self._waits_since
        step_s = 0.0 if self._took_at is None else max(0.0, now - self._took_at - wait_s)
        self._waits_since, self._took_at = None, now
        self.wait_s += wait_s
        self.longest_wait_s = max(self.longest_wait_s, wait_s)
        count = len(batch.positions)
        is_first = not self.delivered
        self.delivered += count
        self._untaken -= count
        self._say(Release(self.number, batch.samples))
        self._ask(step_s, wait_s)
        step_ms = self.spec.step_ms
        if is_first and self.spec.first_step_ms:
            step_ms = self.spec.first_step_ms
        self._gpu.use(step_ms / 1000 * count / self.spec.batch, self._trained)

    def _trained(self) -> None:
        if self._untaken:
            if self._here:
                self._take()
            else:
                self._waits_since = self._clock.now
            return
        self._epoch += 1
        self.ended_s = self._clock.now
        if self._epoch < self.spec.epochs:
            self._took_at = None
            self._begin()
        else:
            self.over = True
            self._say(Leave(self.number))
