"""The workers of one environment: processes, what each has in hand, and what waits for one.

Each worker has up to AHEAD rows in hand a thread, or what it does in AHEAD_S if that is more, so
that it never waits for the daemon; the rest queue here in the order the engine gave them, which is
nearest deadline first.

An *own part* (`Finish`) goes along with the row it needs: it is *held* while that row waits in the
queue, sent with it or after it to the same worker, and queued like a row once its source is ready.

A worker that dies takes all it has in hand with it. Its desk tells what it was at: that is
*suspect*, costs a try and is done alone, so that it takes nothing with it again. The rest goes to
the next worker as if nothing had been. What takes longer than the jobs that read it allow is given
up: its worker is killed, and the sample has failed. A worker whose own memory grows without end
is replaced between two rows.

Code that is long at a row, or that kills workers, gets a crew of its own where others
run here too (`on_offence`); who waits behind such a row is taken back from its worker.

A crew's processes keep the modules they have imported, so it serves code that is older than it.
All of it runs on the daemon's event loop. Not here: one process (hand.py), what is wrong with it
(watch.py).
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

import msgspec

from joader.errors import BadMessage, WorldError
from joader.memory import Arena
from joader.messages import (
    Cook,
    Cooked,
    CookedEach,
    Environment,
    Finish,
    PutAt,
    Spoiled,
    Stop,
    TooBig,
)
from joader.workers.desk import Note
from joader.workers.hand import Hand, Order, Report, code_of
from joader.workers.watch import Watch

AHEAD = 4
# Rows of 20 µs are handed out by the dozen: a message a row would cost more than the row.
AHEAD_S = 0.008
MOST_AHEAD = 256
# How much of what was known of the pace remains with each further report.
_FADING = 0.95
# After a worker that ended before it did anything: starting the next at once would be a busy loop.
_PAUSE_S = 1.0
# A worker may die for reasons that are nobody's; code that was at work each time is the reason.
MOST_DEATHS = 2

log = logging.getLogger("joader.daemon")


class Crew:
    """Workers that can run each other's rows."""

    def __init__(
        self,
        environment: Environment,
        arena: Arena,
        size: int,
        threads: int,
        code_of: Callable[[str | int], bytes],
        on_report: Callable[[Report | CookedEach, Sequence[int]], None],
        on_lost: Callable[[tuple[int, ...], str, bool], None],
        limit_of: Callable[[str | int], float],
        on_offence: Callable[["Crew", str | int], bool],
        on_back: Callable[[list[Order]], None],
        most_growth_bytes: int,
    ) -> None:
        """Start without processes.

        `on_lost` is told samples, why, and whether they are to blame; `limit_of` says how many
        seconds a row of a recipe, or an own part of a job, may take; `on_offence` whether code
        that holds others up runs elsewhere from now on; `on_back` gets what workers hand back.
        """
        self.environment = environment
        self._started = time.time(), time.monotonic()
        self.queue: deque[Order] = deque()
        self.hands: list[Hand] = []
        self.ended = False
        self._arena = arena
        self._size = size
        self._threads = threads
        self._code_of = code_of
        self._on_report = on_report
        self._on_lost = on_lost
        self._watch = Watch(limit_of, most_growth_bytes)
        self._on_offence = on_offence
        self._on_back = on_back
        self._held: dict[int, list[Finish]] = {}  # by source, which no worker has yet
        self._suspects: set[int] = set()
        self._seconds, self._reports = 1.0, 1.0  # of late; at first rows are not known to be quick
        self._deaths: Counter[str | int] = Counter()  # by whose code was at work
        self._hand_of: dict[int, Hand] = {}  # by sample

    @property
    def started(self) -> float:
        """When it was started, by the clock that files are dated with; rather too early.

        If that clock was set since, what it said then and what it would say now are both right for
        some files. A crew that seems too old is replaced, one that seems too new runs old code.
        """
        wall, steady = self._started
        return min(wall, time.time() - (time.monotonic() - steady))

    def note_hand(self, sample: int, hand: Hand | None) -> None:
        """Note who has a sample in hand."""
        if hand is None:
            self._hand_of.pop(sample, None)
        else:
            self._hand_of[sample] = hand

    def note_pace(self, seconds: float, reports: int) -> None:
        """Note how long a worker took for so many reports.

        Sums, of all workers: reports that come at once, after a while of none, are not quick rows.
        """
        self._seconds = _FADING * self._seconds + max(seconds, 1e-6)
        self._reports = _FADING * self._reports + reports

    def note_hands(self, samples: list[int], hand: Hand) -> None:
        """Note who has samples in hand."""
        self._hand_of.update(dict.fromkeys(samples, hand))

    # Work in.

    def cook(self, order: Cook) -> None:
        """Queue a row."""
        self.queue.append(order)

    def finish(self, order: Finish) -> None:
        """Queue an own part, or let it go along with its source."""
        if order.layout:
            self.queue.append(order)
            return
        hand = self._hand_of.get(order.source)
        if hand is not None and not hand.alone:
            hand.take(order, self._code_of(order.job))
        else:
            self._held.setdefault(order.source, []).append(order)

    @property
    def holds_own_parts(self) -> bool:
        """Whether own parts wait here for their sources."""
        return bool(self._held)

    def ready(self, source: int, offset: int, layout: bytes) -> None:
        """Queue the own parts whose source is in its slot now, before all else."""
        for order in reversed(self._held.pop(source, ())):
            self.queue.appendleft(
                msgspec.structs.replace(order, source_offset=offset, layout=layout)
            )

    def gone(self, source: int) -> None:
        """Drop own parts whose source will not come."""
        self._held.pop(source, None)
        for hand in self.hands:
            for order in [o for o in hand.busy.values() if isinstance(o, Finish)]:
                if order.source == source and not order.layout:
                    hand.drop(order.sample)
                    self._suspects.discard(order.sample)

    def drop(self, sample: int) -> None:
        """Forget a sample that its worker was told to drop, and what waits for it."""
        hand = self._hand_of.get(sample)
        if hand is not None:
            hand.drop(sample)
            self._cleared(sample, hand)
        self.gone(sample)

    def put_at(self, order: PutAt) -> None:
        """Tell the worker that has the sample where to put it; if it is ending, `lost` follows."""
        hand = self._hand_of.get(order.sample)
        if hand is not None:
            known = hand.busy[order.sample]
            hand.busy[order.sample] = msgspec.structs.replace(
                known, offset=order.offset, size_bytes=order.size_bytes
            )
            hand.send(order)

    def give_away(self, belongs: Callable[[Order], bool]) -> list[Order]:
        """Return what no worker has yet of the orders that belong; they are another crew's now."""
        orders = [order for order in self.queue if belongs(order)]
        self.queue = deque(order for order in self.queue if not belongs(order))
        for source, held in list(self._held.items()):
            orders += [order for order in held if belongs(order)]
            self._held[source] = [order for order in held if not belongs(order)]
        return orders

    def forget(self, name: str | int, belongs: Callable[[Order], bool]) -> list[int]:
        """Drop code, and what no worker has yet of the orders that belong; return their samples."""
        gone = [order.sample for order in self.queue if belongs(order)]
        self._suspects.difference_update(gone)
        self._deaths.pop(name, None)
        for hand in self.hands:
            hand.unlearn(name)
        self.queue = deque(order for order in self.queue if not belongs(order))
        for source, held in list(self._held.items()):
            gone += [order.sample for order in held if belongs(order)]
            self._held[source] = [order for order in held if not belongs(order)]
            if not self._held[source]:
                del self._held[source]
        return gone

    def kill_stuck(self, belongs: Callable[[Order], bool]) -> None:
        """Kill workers that still have something of what belongs in hand."""
        for hand in self.hands:
            if any(belongs(order) for order in hand.busy.values()):
                hand.kill()

    def feed(self) -> None:
        """Hand out what is queued to the workers with the least in hand."""
        ready = [hand for hand in self.hands if hand.transport is not None and not hand.leaving]
        while self.queue:
            ready = [hand for hand in ready if not hand.alone and self._room(hand)]
            hand = min(ready, key=lambda hand: len(hand.busy), default=None)
            if hand is None:
                return
            share = -(-len(self.queue) // len(ready))  # others have nothing to do, too
            orders = self._plain_rows(max(1, min(self._room(hand) // 2, share)))
            if orders:
                hand.take_rows(orders, self._code_of(orders[0].recipe))
            elif not self._hand_out(hand):
                return

    def _plain_rows(self, most: int) -> list[Cook]:
        """Take the next rows of the queue, as long as they are of one recipe and nothing special.

        That is: nothing is held for them, and none is suspect.
        """
        orders: list[Cook] = []
        while self.queue and len(orders) < most:
            order = self.queue[0]
            if not isinstance(order, Cook) or (orders and order.recipe != orders[0].recipe):
                break
            if order.sample in self._suspects or order.sample in self._held:
                break
            orders.append(order)
            self.queue.popleft()
        return orders

    def _room(self, hand: Hand) -> int:
        """Return how much more a worker gets now; one with quick rows gets them in large parts."""
        quick = int(AHEAD_S * self._reports / self._seconds)
        most = max(AHEAD, min(MOST_AHEAD, quick)) * self._threads
        room = max(0, most - len(hand.busy))
        return room if room > most // 4 or most < 4 * AHEAD * self._threads else 0

    def _hand_out(self, hand: Hand) -> bool:
        """Hand out the next in the queue; False for a suspect, where the worker has others."""
        suspect = self.queue[0].sample in self._suspects
        if suspect and hand.busy:
            return False
        order = self.queue.popleft()
        hand.alone = suspect
        if isinstance(order, Finish):
            hand.take(order, self._code_of(order.job))
            return True
        hand.take(order, self._code_of(order.recipe))
        if not suspect:
            for own in self._held.pop(order.sample, ()):
                hand.take(own, self._code_of(own.job))
        return True

    # Reports out.

    def handed_back(self, hand: Hand, samples: tuple[int, ...]) -> None:
        """Take back what a worker has not begun, and let others do it."""
        orders = [order for sample in samples if (order := hand.drop(sample)) is not None]
        self._on_back(orders)
        self._let_leave(hand)

    def take_back(self, orders: list[Order]) -> None:
        """Queue orders that were in a worker's hands before all others."""
        for order in reversed(orders):
            if isinstance(order, Cook) or order.layout:
                self.queue.appendleft(order)
            else:
                self.finish(order)

    def reported(self, hand: Hand, message: Report) -> None:
        """Note that a worker has reported, and pass it on."""
        order = hand.busy.get(message.sample)
        if order is None:
            return  # nobody waits for it any more
        if isinstance(message, Cooked) and not 0 < message.size_bytes <= order.size_bytes:
            raise BadMessage(f"{message.size_bytes} bytes in a slot of {order.size_bytes}")
        if isinstance(message, TooBig):  # its slot, if it had one, is not its any more
            waiting = msgspec.structs.replace(order, offset=-1, size_bytes=0)
            hand.busy[message.sample] = waiting
        else:
            hand.drop(message.sample)
            self._cleared(message.sample, hand)
        self._on_report(message, [order.offset])
        self._let_leave(hand)

    def reported_each(self, hand: Hand, message: CookedEach) -> None:
        """Note that a worker has reported several samples, and pass it on."""
        known = [sample for sample in dict.fromkeys(message.samples) if sample in hand.busy]
        if not known:
            return  # nobody waits for them any more
        orders = [hand.busy[sample] for sample in known]
        for order in orders:
            if not 0 < message.size_bytes <= order.size_bytes:
                raise BadMessage(f"{message.size_bytes} bytes in a slot of {order.size_bytes}")
        hand.drop_each(known)
        for sample in known:
            self._hand_of.pop(sample, None)
        self._suspects.difference_update(known)
        hand.alone = False
        report = CookedEach(tuple(known), message.layout, message.size_bytes)
        self._on_report(report, [order.offset for order in orders])
        self._let_leave(hand)

    def _cleared(self, sample: int, hand: Hand) -> None:
        """Note that a sample did not end its worker."""
        self._suspects.discard(sample)
        hand.alone = False

    def whereabouts(self, sample: int) -> str | None:
        """Say in words where a sample is, if it is with this crew."""
        for hand in self.hands:
            if sample in hand.busy:
                first = next(iter(hand.busy.values()))
                seconds = time.monotonic() - hand.since[first.sample]
                where = f"worker process {hand.process.pid}"
                steps = ", ".join(note.step for note in hand.at_work())
                at = f", which is at: {steps}" if steps else ""
                if first.sample == sample:
                    return f"has been with {where} for {seconds:.1f} s{at}"
                what = f"row {first.row}" if isinstance(first, Cook) else "a job's own part"
                return f"waits in {where} behind {what}, there for {seconds:.1f} s{at}"
        place = next((n for n, order in enumerate(self.queue) if order.sample == sample), None)
        if place is None:
            held = any(o.sample == sample for orders in self._held.values() for o in orders)
            return "waits for the shared part of its sample" if held else None
        workers = ", ".join(str(hand.process.pid) for hand in self.hands) or "none yet"
        return f"waits behind {place} others for a free worker (processes: {workers})"

    def acts_in_s(self, sample: int) -> float | None:
        """Return in how many seconds what a sample waits for is given up, if that takes long."""
        hand = self._hand_of.get(sample)
        if hand is None and not any(order.sample == sample for order in self.queue):
            return None
        found = [self._watch.acts_in_s(one) for one in ([hand] if hand else self.hands)]
        return min((seconds for seconds in found if seconds is not None), default=None)

    # Processes.

    def start(self) -> None:
        """Start one more worker."""
        number = min(set(range(self._size)) - {hand.number for hand in self.hands}, default=0)
        try:
            hand = Hand(self, number, self.environment, self._arena, self._threads, self._size)
        except (OSError, ValueError) as error:
            raise WorldError(
                f"no worker can be started with {self.environment.interpreter} in the folder "
                f"{self.environment.folder}: {error}; start the job again from a folder and an "
                "environment that exist"
            ) from error
        self.hands.append(hand)

    def watch(self) -> None:
        """Act on what is wrong with workers."""
        self._watch.give_up_overdue(self.hands)
        for hand in [hand for hand in self.hands if not hand.leaving]:
            stuck = self._watch.stuck(hand)
            if stuck and all(self._on_offence(self, code) for code in stuck):
                hand.leave_alone()
                self._start_again()
            elif self._watch.has_grown(hand):
                hand.leaving = True
                self._let_leave(hand)

    def _let_leave(self, hand: Hand) -> None:
        if hand.leaving and not hand.busy and not hand.overdue:
            hand.send(Stop())

    def lost(self, hand: Hand) -> None:
        """Replace a worker that died, and say which samples went with it."""
        code, notes, trace = hand.bury()
        self.hands.remove(hand)
        if not hand.replaced:
            self._replace(hand, notes)
        for sample in hand.busy:
            self.note_hand(sample, None)
        for sample, reason in hand.overdue.items():
            order = hand.busy.pop(sample, None)
            if order is not None:
                self._suspects.discard(sample)
                self._on_report(Spoiled(sample, reason), [order.offset])
        innocent = hand.overdue or self.ended  # it was told to end
        at_work = [note for note in notes if note.sample in hand.busy and not innocent]
        blamed = [note.sample for note in at_work]
        if not blamed and not innocent:
            blamed = list(hand.busy)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        reason = f"the worker that prepared it died ({how})"
        self._tell_lost([sample for sample in hand.busy if sample not in blamed], reason, False)
        if at_work:
            reason = f"{reason}\nIt was at: {', '.join(note.step for note in at_work)}. {trace}"
        for note in at_work:
            culprit = code_of(hand.busy[note.sample])
            self._deaths[culprit] += 1
            if self._deaths[culprit] >= MOST_DEATHS:
                self._on_offence(self, culprit)
        self._tell_lost(blamed, reason.rstrip(), True)

    def _tell_lost(self, samples: list[int], reason: str, blamed: bool) -> None:
        # Own parts held for a row that is lost are told anew with it.
        gone = list(samples)
        for sample in samples:
            gone += [order.sample for order in self._held.pop(sample, ())]
        if blamed:
            self._suspects.update(gone)
        if gone:
            self._on_lost(tuple(gone), reason, blamed)

    def _replace(self, hand: Hand, notes: list[Note]) -> None:
        """Start another worker; later, if this one came to nothing."""
        young = time.monotonic() - hand.started < _PAUSE_S
        pause_s = _PAUSE_S if young and not hand.done and not notes else 0.0
        asyncio.get_running_loop().call_later(pause_s, self._start_again)

    def _start_again(self) -> None:
        if self.ended:
            return
        try:
            self.start()
        except WorldError as error:
            log.error("%s", error)
            asyncio.get_running_loop().call_later(_PAUSE_S, self._start_again)

    def end(self) -> list[Hand]:
        """Tell all workers to end; return them, to be waited for."""
        self.ended = True
        for hand in self.hands:
            if hand.transport is None:
                hand.kill()
            hand.send(Stop())
        return list(self.hands)
