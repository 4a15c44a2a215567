"""The workers that one loader brings, what each has in hand, and what waits for them.

An *own part* goes along with the row it needs: it is *held* while that row waits in the queue or is
with another crew, sent with it or after it to the same worker, and queued like a row once its
source is ready. Not here: who gets what (dispatch.py).
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from joader.messages import Compare
from joader.schedule.blame import STUCK_S, Note
from joader.schedule.orders import Order, Own, Row
from joader.schedule.pace import RowPace


@dataclass(eq=False, slots=True)
class Worker:
    """One worker process, as far as decisions need it."""

    id: int
    crew: "Crew"
    number: int  # torch's: below num_workers
    pid: int  # for messages
    latest: float  # when it reported last, or got something to do
    busy: dict[int, Order] = field(default_factory=dict)  # by sample, in the order they came
    since: dict[int, float] = field(default_factory=dict)
    unplaced: set[int] = field(default_factory=set)  # sized, and not told where to go
    alone: bool = False  # it has a suspect in hand, and gets nothing beside it
    leaving: bool = False  # it gets nothing more, and ends when it has nothing in hand
    asked_back: float | None = None  # since when it owes an answer to HandBack
    gone: bool = False  # its connection has ended; how, is not known yet
    late: bool = False  # it has not answered: what it has is done by others, too
    overdue: tuple[Note, ...] = ()  # what it is killed for
    done: int = 0  # reports
    bytes_at_first: int = 0  # its private memory after its first rows

    def drop(self, sample: int) -> Order | None:
        """Note that it has a sample no more."""
        self.since.pop(sample, None)
        self.unplaced.discard(sample)
        return self.busy.pop(sample, None)

    def is_stuck(self, now: float) -> bool:
        """Tell whether it has had something in hand for a while and has reported nothing."""
        return bool(self.busy) and now - self.latest > STUCK_S

    def room(self, now: float) -> int:
        """Return how many more orders it should get now."""
        if self.late or self.is_stuck(now):
            return 0
        return self.crew.pace.room(len(self.busy), self.crew.waits)


@dataclass(eq=False, slots=True)
class Crew:
    """The workers of one nursery; all passes of one loader have one."""

    ticket: str  # what nursery and workers say when they come
    code: str  # what they can prepare
    jobs: set[int] = field(default_factory=set)
    most: int = 0  # how many workers it lends; 0: its share of the cores
    lends: bool = True  # it works for others, too
    waits: bool = False  # its rows wait for a network, many at a time
    nursery: bool = False  # it is here, and can bear workers
    ended: bool = False  # its last job has left
    queue: deque[Order] = field(default_factory=deque)
    held: dict[int, list[Own]] = field(default_factory=dict)  # by source, which none of ours has
    workers: list[Worker] = field(default_factory=list)
    born: dict[int, float] = field(default_factory=dict)  # numbers on their way, and since when
    not_before: float = 0.0  # when the next may be born
    in_vain: float | None = None  # since when rows wait here and nobody takes them
    pace: RowPace = field(default_factory=RowPace)

    @property
    def present(self) -> int:
        """How many workers there are, or will be in a moment, that take work."""
        return len(self.born) + sum(not (one.leaving or one.late) for one in self.workers)

    def next_numbers(self, count: int) -> list[int]:
        """Return numbers for workers to be born: the lowest that nobody has.

        torch numbers workers below num_workers; one that leaves makes room for its successor.
        """
        taken = {one.number for one in self.workers if not one.leaving} | set(self.born)
        free = (number for number in range(len(taken) + count) if number not in taken)
        return [next(free) for _ in range(count)]

    def put_back(self, orders: Iterable[Row | Compare | Own]) -> None:
        """Queue orders before all others, in their order."""
        self.queue.extendleft(reversed(list(orders)))

    def surrender(self) -> list[Row]:
        """Give up the rows that wait here, for others to do; own parts stay."""
        rows = [order for order in self.queue if isinstance(order, Row)]
        self.queue = deque(order for order in self.queue if not isinstance(order, Row))
        return rows
