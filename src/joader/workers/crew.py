"""The workers that one loader brings: what each has in hand, what waits, when more are born.

Each worker has up to AHEAD rows in hand, or what it does in AHEAD_S if that is more, so that it
never waits for the daemon; the rest queue here in the order the engine gave them, which is nearest
deadline first. Workers are born when something waits and none has room, never more than the loader
lends, and end when they were idle for IDLE_S.

An *own part* (`Finish`) goes along with the row it needs: it is *held* while that row waits in the
queue or is with another crew, sent with it or after it to the same worker, and queued like a row
once its source is ready.

A worker that dies takes all it has in hand with it. Its desk tells what it worked on: that is
*suspect*, costs a try and is done alone, so that it takes nothing with it again. The rest goes to
the next worker as if nothing had been. What takes longer than the jobs that read it allow is given
up: its worker is killed, and the sample has failed. A worker that works on one row for long is
asked for what it has not begun. One that does not answer is *late*: what others wait for is done by
somebody else, in another slot, as the late worker may still write to its own.

All of it runs on the daemon's event loop. Not here: which crew helps which (pool.py), one process
(hand.py), what is wrong with it (watch.py).
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from joader.errors import BadMessage
from joader.messages import (
    Bear,
    Check,
    Checked,
    Cook,
    Cooked,
    CookedEach,
    Finish,
    PutAt,
    Slay,
    Spoiled,
    Stop,
    TooBig,
)
from joader.workers.desk import Note
from joader.workers.hand import Hand, Order, Report
from joader.workers.link import NurseryLink
from joader.workers.watch import STUCK_S, Watch

AHEAD = 4
# Rows that take longer than this are handed out two at a time: one to work on, one to go on with.
_SLOW_ROW_S = 0.02
_AHEAD_IF_SLOW = 2
# Rows of 20 µs are handed out by the dozen: a message a row would cost more than the row.
AHEAD_S = 0.008
MOST_AHEAD = 256
# How much of what was known of the pace remains with each further report.
_FADING = 0.95
# After a worker that ended before it did anything: bearing the next at once would be a busy loop.
_PAUSE_S = 1.0
# A worker that has had nothing to do for so long ends.
IDLE_S = 10.0
# A worker that was to be born and has not come in this time will not come.
_BIRTH_S = 30.0

log = logging.getLogger("joader.daemon")


class Owner(Protocol):
    """What a crew needs of the pool."""

    suspects: set[int]

    def reported(self, message: Report | CookedEach, offsets: Sequence[int]) -> None:
        """Take a report, with the slots it is about."""
        ...

    def lost(self, samples: tuple[int, ...], reason: str, blamed: bool) -> None:
        """Take note that samples went with their worker."""
        ...

    def late(self, samples: tuple[int, ...]) -> None:
        """Take note that a worker with these samples does not answer."""
        ...

    def checked(self, crew: "Crew", sample: int, same: bool) -> None:
        """Take the outcome of a comparison."""
        ...

    def taken_back(self, crew: "Crew", orders: list[Order]) -> None:
        """Let others do what a worker has not begun."""
        ...

    def feed(self) -> None:
        """Hand out what has come."""
        ...


class Crew:
    """Workers of one nursery."""

    def __init__(
        self,
        pool: Owner,
        ticket: str,
        code: str,
        limit_of: Callable[["Crew", Order], float],
        most_growth_bytes: int,
    ) -> None:
        """Start without processes.

        `ticket` is what nursery and workers say when they come, `code` names what they can prepare;
        `limit_of` says how many seconds an order may take.
        """
        self.ticket, self.code = ticket, code
        self.jobs: set[int] = set()
        self.most = 0  # how many workers it lends; 0: its share of the cores
        self.lends = True  # it works for others, too
        self.waits = False  # its rows wait for a network, many at a time
        self.queue: deque[Order] = deque()
        self.hands: list[Hand] = []
        self.nursery: NurseryLink | None = None
        self.ended = False
        self._pool = pool
        self._watch = Watch(lambda order: limit_of(self, order), most_growth_bytes)
        self._held: dict[int, list[Finish]] = {}  # by source, which no worker of ours has yet
        self._hand_of: dict[int, Hand] = {}  # by sample
        self._born: dict[int, float] = {}  # numbers of those on their way, and since when
        self._not_before = 0.0  # when the next may be born
        self._in_vain: float | None = None  # since when rows wait here and nobody takes them
        self._seconds, self._reports = 1.0, 1.0  # of late; at first rows are not known to be quick

    # Who has what.

    def note_hand(self, sample: int, hand: Hand | None) -> None:
        """Note who has a sample in hand."""
        if hand is None:
            self._hand_of.pop(sample, None)
        else:
            self._hand_of[sample] = hand

    def note_hands(self, samples: list[int], hand: Hand) -> None:
        """Note who has samples in hand."""
        self._hand_of.update(dict.fromkeys(samples, hand))

    def note_pace(self, seconds: float, reports: int) -> None:
        """Note how long a worker took for so many reports.

        Sums, of all workers: reports that come at once, after a while of none, are not quick rows.
        """
        self._seconds = _FADING * self._seconds + max(seconds, 1e-6)
        self._reports = _FADING * self._reports + reports

    @property
    def present(self) -> int:
        """How many workers there are, or will be in a moment, that take work."""
        return len(self._born) + sum(not (hand.leaving or hand.late) for hand in self.hands)

    @property
    def holds_own_parts(self) -> bool:
        """Whether own parts wait here for their sources."""
        return bool(self._held)

    # Work in.

    def cook(self, order: Cook) -> None:
        """Queue a row."""
        self.queue.append(order)

    def check(self, order: Check) -> None:
        """Queue a comparison, before all else: its job waits for it."""
        self.queue.appendleft(order)

    def finish(self, order: Finish) -> None:
        """Queue an own part, or let it go along with its source."""
        if order.layout:
            self.queue.append(order)
            return
        hand = self._hand_of.get(order.source)
        if hand is not None and not hand.alone and not hand.late:
            hand.take(order)
        else:
            self._held.setdefault(order.source, []).append(order)

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
                    self._pool.suspects.discard(order.sample)

    def let_go(self, source: int) -> list[int]:
        """Forget own parts that wait for a source, and return them: they are told anew."""
        return [order.sample for order in self._held.pop(source, ())]

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

    def take_back(self, orders: list[Order]) -> None:
        """Queue orders that were in a worker's hands before all others."""
        for order in reversed(orders):
            if isinstance(order, Cook | Check) or order.layout:
                self.queue.appendleft(order)
            else:
                self.finish(order)

    @property
    def waits_in_vain(self) -> bool:
        """Whether rows have waited here for a while, and no worker is here that takes any."""
        return self._in_vain is not None and time.monotonic() - self._in_vain > STUCK_S

    def surrender(self) -> list[Cook]:
        """Give up the rows that wait here, for others to do; own parts stay."""
        rows = [order for order in self.queue if isinstance(order, Cook)]
        self.queue = deque(order for order in self.queue if not isinstance(order, Cook))
        return rows

    # Work out.

    def feed(self, queue: deque[Order] | None = None) -> None:
        """Hand out what is queued, here or with another crew, to those with the least in hand."""
        helps, queue = queue is not None, self.queue if queue is None else queue
        ready = [hand for hand in self.hands if hand.transport is not None and not hand.leaving]
        if helps:
            ready = [hand for hand in ready if not hand.busy]
        while queue:
            ready = [hand for hand in ready if not hand.alone and self._room(hand)]
            hand = min(ready, key=lambda hand: len(hand.busy), default=None)
            if hand is None:
                return
            # Others have nothing to do either, or are about to be born.
            share = -(-len(queue) // (len(ready) + (0 if helps else len(self._born))))
            orders = self._plain_rows(queue, max(1, min(self._room(hand) // 2, share)), helps)
            if orders:
                hand.take(*orders)
            elif helps or not self._hand_out(hand):
                return

    def _plain_rows(self, queue: deque[Order], most: int, helps: bool) -> list[Cook]:
        """Take the next rows of a queue, as long as they are nothing special.

        That is: none is suspect, and nothing is held for them that should go along.
        """
        orders: list[Cook] = []
        while queue and len(orders) < most:
            order = queue[0]
            if not isinstance(order, Cook) or order.sample in self._pool.suspects:
                break
            if not helps and order.sample in self._held:
                break
            orders.append(order)
            queue.popleft()
        return orders

    def _room(self, hand: Hand) -> int:
        """Return how much more a worker gets now; one with quick rows gets them in large parts."""
        if hand.late or (hand.busy and time.monotonic() - hand.latest > STUCK_S):
            return 0
        row_s = self._seconds / self._reports
        # Rows that wait for a network are begun when they come, all at once.
        least = _AHEAD_IF_SLOW if row_s > _SLOW_ROW_S and not self.waits else AHEAD
        most = max(least, min(MOST_AHEAD, int(AHEAD_S / row_s)))
        room = max(0, most - len(hand.busy))
        return room if room > most // 4 or most < 4 * AHEAD else 0

    def _hand_out(self, hand: Hand) -> bool:
        """Hand out the next in the queue; False for a suspect, where the worker has others."""
        suspect = self.queue[0].sample in self._pool.suspects
        if suspect and hand.busy:
            return False
        order = self.queue.popleft()
        hand.alone = suspect
        hand.take(order)
        if isinstance(order, Cook) and not suspect:
            for own in self._held.pop(order.sample, ()):
                hand.take(own)
        return True

    # Reports out.

    def handed_back(self, hand: Hand, samples: tuple[int, ...]) -> None:
        """Take back what a worker has not begun, and let others do it."""
        hand.late = False
        orders = [order for sample in samples if (order := hand.drop(sample)) is not None]
        if orders:
            self._pool.taken_back(self, orders)
        self._let_leave(hand)

    def checked(self, hand: Hand, message: Checked) -> None:
        """Note the outcome of a comparison."""
        if isinstance(hand.busy.get(message.sample), Check):
            hand.drop(message.sample)
            self._pool.checked(self, message.sample, message.same)

    def reported(self, hand: Hand, message: Report) -> None:
        """Note that a worker has reported, and pass it on."""
        order = hand.busy.get(message.sample)
        if order is None:
            return  # nobody waits for it any more
        if isinstance(order, Check):  # it cannot be prepared here; who wants it will be told why
            self.checked(hand, Checked(message.sample, same=True))
            return
        if isinstance(message, Cooked) and not 0 < message.size_bytes <= order.size_bytes:
            raise BadMessage(f"{message.size_bytes} bytes in a slot of {order.size_bytes}")
        hand.late = False
        if isinstance(message, TooBig):  # its slot, if it had one, is not its any more
            waiting = msgspec.structs.replace(order, offset=-1, size_bytes=0)
            hand.busy[message.sample] = waiting
        else:
            hand.drop(message.sample)
            self._cleared(message.sample, hand)
        self._pool.reported(message, [order.offset])
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
        self._pool.suspects.difference_update(known)
        hand.alone = hand.late = False
        report = CookedEach(tuple(known), message.layout, message.size_bytes)
        self._pool.reported(report, [order.offset for order in orders])
        self._let_leave(hand)

    def _cleared(self, sample: int, hand: Hand) -> None:
        """Note that a sample did not end its worker."""
        self._pool.suspects.discard(sample)
        hand.alone = False

    def whereabouts(self, sample: int) -> str | None:
        """Say in words where a sample is, if it is with this crew."""
        for hand in self.hands:
            if sample in hand.busy:
                first = next(iter(hand.busy.values()))
                seconds = time.monotonic() - hand.since[first.sample]
                where = f"worker process {hand.pid}"
                steps = ", ".join(note.step for note in hand.at_work())
                at = f", which is at: {steps}" if steps else ""
                if hand.late:
                    at += "; the process does not answer: it is stopped, or hangs since its birth"
                if first.sample == sample:
                    return f"has been with {where} for {seconds:.1f} s{at}"
                what = f"row {first.row}" if isinstance(first, Cook) else "a job's own part"
                return f"waits in {where} behind {what}, there for {seconds:.1f} s{at}"
        place = next((n for n, order in enumerate(self.queue) if order.sample == sample), None)
        if place is None:
            held = any(o.sample == sample for orders in self._held.values() for o in orders)
            return "waits for the shared part of its sample" if held else None
        if self.nursery is None:
            return "waits for the job's worker processes, which have not been born yet"
        workers = ", ".join(str(hand.pid) for hand in self.hands) or "none yet"
        return f"waits behind {place} others for a free worker (processes: {workers})"

    def acts_in_s(self, sample: int) -> float | None:
        """Return in how many seconds what a sample waits for is given up, if that takes long."""
        hand = self._hand_of.get(sample)
        if hand is None and not any(order.sample == sample for order in self.queue):
            return None
        found = [self._watch.acts_in_s(one) for one in ([hand] if hand else self.hands)]
        return min((seconds for seconds in found if seconds is not None), default=None)

    # Processes.

    def bear(self, most: int) -> None:
        """Have workers born for what is queued, if the nursery is here; at most so many."""
        if self.nursery is None or self.ended or time.monotonic() < self._not_before:
            return
        free = sum(1 for h in self.hands if not h.leaving and not h.busy) + len(self._born)
        # torch numbers workers below num_workers; one that leaves makes room for its successor.
        taken = {hand.number for hand in self.hands if not hand.leaving} | set(self._born)
        for _ in range(min(most, len(self.queue) - free)):
            number = next(n for n in range(len(taken) + 1) if n not in taken)
            taken.add(number)
            self._born[number] = time.monotonic()
            self.nursery.send(Bear(number))

    def expects(self, number: int) -> bool:
        """Tell whether a worker of this number is to be born."""
        return number in self._born

    def attend(self, nursery: NurseryLink) -> None:
        """Take a nursery in, in place of one that is gone."""
        if self.nursery is not None:
            self.nursery.close()
        self.nursery = nursery
        self._born.clear()
        self._pool.feed()

    def nursery_gone(self, nursery: NurseryLink) -> None:
        """Note that a nursery has gone; its workers go with it."""
        if self.nursery is nursery:
            self.nursery = None
            self._born.clear()

    def unborn(self, reason: str) -> None:
        """Note that no worker can be born now; they are tried again."""
        log.warning("a job's nursery cannot bear workers: %s", reason)
        self._born.clear()
        self._pause()

    def _pause(self) -> None:
        self._not_before = time.monotonic() + _PAUSE_S
        asyncio.get_running_loop().call_later(_PAUSE_S, self._pool.feed)

    def arrived(self, hand: Hand) -> None:
        """Take a worker in that has just been born."""
        self._born.pop(hand.number, None)
        self.hands.append(hand)
        if self.ended:
            hand.kill()
        self._pool.feed()

    def ended_as(self, number: int, pid: int, code: int) -> None:
        """Note how a worker's process has ended."""
        for hand in self.hands:
            if hand.number == number and hand.pid in (pid, 0):
                hand.ended(code)
                return
        if self._born.pop(number, None) is not None:
            log.warning("worker %d ended before it came here (%s)", pid, _how(code))
            self._pause()

    def slay(self, hand: Hand) -> None:
        """Have the nursery kill a worker that cannot be reached from here."""
        if self.nursery is not None:
            self.nursery.send(Slay(hand.number))

    def watch(self) -> None:
        """Act on what is wrong with workers, and on those that nobody needs."""
        now = time.monotonic()
        self._born = {n: since for n, since in self._born.items() if now - since < _BIRTH_S}
        self._watch.give_up_overdue(self.hands)
        for hand in [hand for hand in self.hands if not hand.overdue]:
            # Also those that are to leave once they have done what they have: others wait for it.
            if self._watch.is_late(hand):
                self._note_late(hand)
            elif self._watch.is_stuck(hand):
                hand.ask_back()
            elif hand.leaving:
                continue
            elif self._watch.has_grown(hand) or (not hand.busy and now - hand.latest > IDLE_S):
                hand.leaving = True
                self._let_leave(hand)
        if not self.queue or any(not (hand.leaving or hand.late) for hand in self.hands):
            self._in_vain = None
        elif self._in_vain is None:
            self._in_vain = now

    def _note_late(self, hand: Hand) -> None:
        """Have others do what a worker has that does not answer.

        Not once only: who asks for one of its rows later, or had no room for another, waits, too.
        """
        if not hand.late:
            log.warning(
                "worker %d does not answer; others do the %d samples that it has",
                *(hand.pid, len(hand.busy)),
            )
        hand.late = True
        self._pool.late(tuple(hand.busy))

    def renew(self) -> None:
        """Let all workers end when they have done what they have."""
        for hand in self.hands:
            hand.leaving = True
            self._let_leave(hand)

    def _let_leave(self, hand: Hand) -> None:
        if hand.leaving and not hand.busy and not hand.overdue:
            hand.send(Stop())

    def lost(self, hand: Hand) -> None:
        """Say which samples went with a worker that has ended, and whose fault it is."""
        notes, trace = hand.at_work(), hand.desk.trace()
        self.hands.remove(hand)
        if not hand.done and not notes and not hand.leaving:
            self._pause()
        for sample in [s for s, order in hand.busy.items() if isinstance(order, Check)]:
            self.checked(hand, Checked(sample, same=True))  # nobody knows
        for sample in hand.busy:
            self.note_hand(sample, None)
        for sample, reason in hand.overdue.items():
            order = hand.busy.pop(sample, None)
            if order is not None:
                self._pool.suspects.discard(sample)
                self._pool.reported(Spoiled(sample, reason), [order.offset])
        if hand.busy:
            self._tell_what_was_in_hand(hand, notes, trace)
        self._pool.feed()

    def _tell_what_was_in_hand(self, hand: Hand, notes: list[Note], trace: str) -> None:
        # Who was told to end, or went with a nursery that was killed, is nobody's victim.
        innocent = bool(hand.overdue) or self.ended or self.nursery is None
        at_work = [note for note in notes if note.sample in hand.busy and not innocent]
        blamed = [note.sample for note in at_work]
        if not blamed and not innocent:
            blamed = list(hand.busy)
        reason = f"the worker that prepared it died ({_how(hand.code)})"
        self._tell_lost([sample for sample in hand.busy if sample not in blamed], reason, False)
        if at_work:
            reason = f"{reason}\nIt was at: {', '.join(note.step for note in at_work)}. {trace}"
        self._tell_lost(blamed, reason.rstrip(), True)

    def _tell_lost(self, samples: list[int], reason: str, blamed: bool) -> None:
        if blamed:
            self._pool.suspects.update(samples)
        if samples:
            self._pool.lost(tuple(samples), reason, blamed)

    def end(self) -> list[int]:
        """Take nothing more, have all workers end; return the samples that none of them has."""
        self.ended = True
        gone = [order.sample for order in self.queue if not isinstance(order, Check)]
        gone += [order.sample for orders in self._held.values() for order in orders]
        self._pool.suspects.difference_update(gone)
        self.queue.clear()
        self._held.clear()
        for hand in self.hands:
            hand.leaving = True
            if not hand.busy:
                hand.send(Stop())
        return gone

    def kill(self) -> None:
        """Kill what is left: workers, and the nursery."""
        for hand in list(self.hands):
            hand.kill()
        if self.nursery is not None:
            self.nursery.kill()


def _how(code: int | None) -> str:
    if code is None:
        return "it is not known how"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
