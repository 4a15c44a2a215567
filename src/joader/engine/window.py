"""What one job has asked for and holds, between its plan and its hands.

A place of its pass is
- *planned*: in `places`, and its row's sample number in `homes`; nothing is held for it;
- *asked for*: one of the first in `places`, its sample in `samples`. It is in `unready` while in
  preparation, in `failed` if that went wrong, and else ready;
- *held*: delivered and not released; its sample is counted in `held`.

Plan order is delivery order. A job has a lease for each place that is asked for or held and has a
slot. Not here: which places are planned (plan.py), leases and preparations (supply.py).
"""

from collections import Counter, deque
from dataclasses import dataclass, field

from joader.engine.plan import Stretch
from joader.errors import BadArgument
from joader.messages import Job


@dataclass(eq=False)
class Window:
    """Places that are planned, asked for or held."""

    places: list[int] = field(default_factory=list)
    homes: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    unready: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)  # how often each
    held_count: int = 0
    wants: deque[int] = field(default_factory=deque)
    wanted: int = 0  # the sum of wants
    _ready: int = 0  # how many of the first places are known to be ready, or failed

    @property
    def size(self) -> int:
        """How many samples are asked for or held."""
        return len(self.samples) + self.held_count

    def plan(self, stretch: Stretch, base: int) -> None:
        """Take in what comes next; `base` is the first sample number of the job's recipe."""
        self.places += stretch.places.tolist()
        self.homes += (base + stretch.rows).tolist()

    def forget_plan(self) -> None:
        """Drop what is planned; nothing may be asked for."""
        assert not self.samples
        self.places.clear()
        self.homes.clear()

    def want(self, count: int) -> None:
        """Queue a request."""
        self.wants.append(count)
        self.wanted += count

    def drop_wants(self) -> None:
        """Forget what the job wanted: it begins another pass."""
        self.wants.clear()
        self.wanted = 0

    def next_count(self, more_to_come: bool) -> int | None:
        """Return how many the next delivery has; None while they are not all planned.

        It is less than wanted at the end of a pass, and 0 after it.
        """
        if not self.wants:
            return None
        if self.wants[0] > len(self.places):
            return None if more_to_come else len(self.places)
        return self.wants[0]

    def are_ready(self, count: int) -> bool:
        """Tell whether the next so many are here, or have failed."""
        # Remembered from call to call: each place is looked at once, not once per report.
        while self._ready < len(self.samples) and self.places[self._ready] not in self.unready:
            self._ready += 1
        return count <= self._ready

    def take(self, count: int) -> tuple[list[int], list[int], list[int]]:
        """Take the next off, and return places, homes and samples."""
        self.wanted -= self.wants.popleft()
        self._ready = max(0, self._ready - count)
        taken = self.places[:count], self.homes[:count], self.samples[:count]
        del self.places[:count], self.homes[:count], self.samples[:count]
        return taken

    def unask(self) -> tuple[int, int]:
        """Make the farthest that is asked for merely planned; return its place and sample."""
        sample = self.samples.pop()
        self._ready = min(self._ready, len(self.samples))
        return self.places[len(self.samples)], sample

    def hold(self, samples: list[int]) -> None:
        """Note that these were delivered."""
        held = self.held
        for sample in samples:
            held[sample] = held.get(sample, 0) + 1
        self.held_count += len(samples)

    def let_go(self, job: Job, samples: list[int]) -> None:
        """Note that these were released; BadArgument if the job does not hold one of them."""
        held, released = self.held, Counter(samples)
        for sample, count in released.items():
            if count > held.get(sample, 0):
                raise BadArgument(
                    f"job {job} releases sample {sample} {count} times and holds "
                    f"{held.get(sample, 0)} of it; release each once"
                )
        for sample, count in released.items():
            if held[sample] == count:
                del held[sample]
            else:
                held[sample] -= count
        self.held_count -= len(samples)
