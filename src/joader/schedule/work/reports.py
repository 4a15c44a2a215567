"""What workers report, and what follows from it for samples, accounts and waiting orders."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from joader.errors import BadMessage
from joader.messages import Compare, Compared, Failed, FromWorker, NotBegun, Prepared, Sized
from joader.schedule.work.crew import Worker
from joader.schedule.work.orders import Own, Raw, Row, is_whole
from joader.schedule.work.staff import Staff

# No row takes that long: longer times that a worker reports are cut to this.
_MOST_S = 1e6
_MOST_THREADS = 1024
# How many reports pass between updates of the knee: counting the workers at work is expensive.
_LOOKED_AT = 4


class Reports:
    """Takes reports in, for a staff."""

    def __init__(self, staff: Staff) -> None:
        """Change this staff."""
        self._staff = staff
        self._timed = 0  # reports that say how long they took

    def take(self, worker: Worker, messages: Iterable[FromWorker], now: float) -> None:
        """Take in a worker's messages; BadMessage if they make no sense."""
        done = worker.done
        try:
            for message in messages:
                self._reported(worker, message, now)
        finally:
            if worker.done > done:
                worker.latest = now
                worker.asked_back = None  # it is alive; if it gets stuck again, it is asked again
            worker.crew.note_room(worker)
        self._staff.let_leave(worker)

    def _reported(self, worker: Worker, message: FromWorker, now: float) -> None:
        match message:
            case Prepared():
                self._prepared(worker, message)
                worker.done += len(message.samples)
            case Sized():
                worker.done += len(message.samples)
                self._sized(worker, message)
            case Failed():
                worker.done += 1
                self._failed(worker, message)
            case Compared():
                self._staff.compared(worker, message.sample, message.same)
            case NotBegun():
                worker.asked_back = None
                self._handed_back(worker, message.samples, now)

    def _prepared(self, worker: Worker, message: Prepared) -> None:
        samples, sizes = message.samples, message.size_of_each
        raw_sizes = message.raw_size_of_each
        orders = self._taken(worker, samples, sizes)
        if not orders:
            return
        layouts = message.layout_of_each
        worker.late = worker.alone = False
        staff = self._staff
        if staff.suspects:
            staff.suspects.difference_update(samples)
        self._note_time(worker, orders, message)
        if staff.storages and worker.crew.code in staff.storages:
            staff.storages[worker.crew.code].done(sum(map(_was_read, orders)))
        if len(orders) < len(samples):
            told = dict(zip(samples, zip(sizes, layouts, raw_sizes, strict=True), strict=True))
            samples = tuple([order.sample for order in orders])
            sizes, layouts, raw_sizes = zip(*[told[sample] for sample in samples], strict=True)
            message = replace(
                message, samples=samples, sizes=sizes, layouts=layouts, raw_sizes=raw_sizes
            )
        if message.raw_sizes:
            self._keep_raws(worker, orders, raw_sizes)
        staff.tell(message)
        if staff.held:
            for order, layout in zip(orders, layouts, strict=True):
                if order.sample in staff.held:
                    staff.source_is_ready(order.sample, order.offset, layout)

    def _keep_raws(
        self, worker: Worker, orders: list[Row | Own | Raw], raw_sizes: Sequence[int]
    ) -> None:
        """Note which raw forms a worker has kept, too; BadMessage if it was not told to."""
        for order, size_bytes in zip(orders, raw_sizes, strict=True):
            if size_bytes:
                if not isinstance(order, Row) or not order.keeps_raw:
                    raise BadMessage(f"the raw form of sample {order.sample} is not to be kept")
                self._staff.keep_raw(worker, order)

    def _taken(
        self, worker: Worker, samples: Sequence[int], sizes: Sequence[int]
    ) -> list[Row | Own | Raw]:
        """Take what is prepared from its worker: all of it that it had, or nothing."""
        busy, holder = worker.busy, self._staff.holder
        orders: list[Row | Own | Raw] = []
        for sample, size_bytes in zip(samples, sizes, strict=True):
            order = busy.pop(sample, None)
            if order is None:
                continue  # no job waits for it any more, or it was reported before
            if isinstance(order, Compare) or not 0 < size_bytes <= order.size_bytes:
                for one in (*orders, order):
                    busy[one.sample] = one
                raise BadMessage(f"{size_bytes} bytes in the slot of sample {sample}")
            orders.append(order)
        for order in orders:
            if holder.get(order.sample) is worker:
                del holder[order.sample]
        if worker.own:
            worker.own -= sum(isinstance(order, Own) for order in orders)
        if worker.whole:
            worker.whole -= sum(map(is_whole, orders))
        if worker.unplaced:
            worker.unplaced.difference_update(samples)
        return orders

    def _note_time(self, worker: Worker, done: list[Row | Own | Raw], report: Prepared) -> None:
        """Charge what was reported to its claimant; a report is of rows or of own parts.

        Raw forms take next to nothing, and are not counted in addition to their rows.
        """
        claims, seconds = worker.crew.queue, report.seconds
        orders = [order for order in done if not isinstance(order, Raw)]
        if not 0.0 < seconds < _MOST_S:
            return  # it does not say
        if not orders:
            claims.shared.took(seconds, 0)
            return
        computed_s, waited_s = seconds, 0.0
        # Times are bounded: several threads may compute at once, but not that many.
        if 0.0 <= report.computed_s < seconds * _MOST_THREADS and report.waited_s >= 0.0:
            computed_s, waited_s = report.computed_s, min(report.waited_s, seconds)
        if whole := [order for order in orders if is_whole(order)]:
            own_s = min(report.own_s, seconds) if report.own_s > 0.0 else 0.0
            # It is taken to wait for nothing, as the row has.
            own_computed_s = computed_s * min(1.0, own_s / max(seconds - waited_s, own_s, 1e-9))
            self._note_own_parts(worker, whole, own_s, own_computed_s)
            seconds, computed_s = seconds - own_s, computed_s - own_computed_s
        claim = claims.shared if isinstance(orders[0], Row) else claims.own_of(orders[0].job)
        claim.took(computed_s, len(orders))
        if worker.done:  # its first rows open files and import modules, and say nothing of others
            claims.note(claim.pace, len(orders), seconds, computed_s, waited_s)
            self._timed += 1
            if self._timed % _LOOKED_AT == 0:
                self._note_company(worker, orders, seconds, computed_s, waited_s)

    def _note_own_parts(
        self, worker: Worker, whole: list[Row | Own], own_s: float, computed_s: float
    ) -> None:
        """Charge the own parts of rows that were prepared whole to their jobs."""
        claims = worker.crew.queue
        for job, rows in Counter([order.job for order in whole]).items():
            claims.own_of(job).took(computed_s * rows / len(whole), rows)
        if worker.done:
            claims.note(claims.own_pace, len(whole), own_s, computed_s, 0.0)

    def _note_company(
        self,
        worker: Worker,
        orders: list[Row | Own],
        seconds: float,
        computed_s: float,
        waited_s: float,
    ) -> None:
        """Note what rows cost at this number of workers, and how long a worker stood in line."""
        staff = self._staff
        if isinstance(orders[0], Row):
            code, running = worker.crew.code, round(staff.running)
            staff.knee.note(code, running, len(orders), computed_s)
        delayed_s = max(0.0, seconds - computed_s - waited_s)
        staff.crowd.note(computed_s, delayed_s, staff.at_work)

    def _sized(self, worker: Worker, message: Sized) -> None:
        if len(message.samples) != len(message.sizes):
            raise BadMessage("sizes of other samples than are named")
        known: dict[int, int] = {}
        try:
            for sample, size_bytes in zip(message.samples, message.sizes, strict=True):
                order = worker.busy.get(sample)
                if order is None or isinstance(order, Compare):
                    continue
                self._check_placed(worker, sample)
                worker.unplaced.add(sample)
                worker.late = False
                if order.offset >= 0:  # it has lost its slot
                    worker.busy[sample] = replace(order, offset=-1, size_bytes=0)
                known[sample] = size_bytes
        finally:  # the valid part counts, whatever followed it
            if known:
                self._staff.tell(Sized(tuple(known), tuple(known.values())))

    def _check_placed(self, worker: Worker, sample: int) -> None:
        # The engine may have given up what was too large, and its number may be another's: only
        # Place or Drop comes next.
        if sample in worker.unplaced:
            raise BadMessage(f"sample {sample} was sized and is waiting for a slot")

    def _failed(self, worker: Worker, message: Failed) -> None:
        order = worker.busy.get(message.sample)
        if isinstance(order, Compare):  # it cannot be prepared here; its job will hear why
            self._staff.compared(worker, message.sample, same=True)
        elif order is not None:
            self._check_placed(worker, message.sample)
            worker.late = False
            self._staff.dropped(worker, message.sample)
            self._staff.cleared(worker, message.sample)
            self._staff.tell(message)
            self._staff.gone(message.sample, worker)

    def _handed_back(self, worker: Worker, samples: Sequence[int], now: float) -> None:
        """Let others do what a worker has not begun."""
        worker.late = False
        dropped = [order for s in samples if (order := self._staff.dropped(worker, s)) is not None]
        orders = [order for order in dropped if not isinstance(order, Raw)]
        raws = [order.sample for order in dropped if isinstance(order, Raw)]
        self._staff.lose(raws, "it was not kept", blamed=False, expected=True)
        crew = worker.crew
        if crew.ended:
            back = [order.sample for order in orders]
            self._staff.lose(back, "its job has left", blamed=False, expected=True)
            return
        self._staff.put_back(crew, [o for o in orders if not isinstance(o, Own) or o.layout])
        stranded = []
        for order in orders:
            if isinstance(order, Own) and not order.layout:
                if order.source in self._staff.holder or order.source in samples:
                    self._staff.finish(crew, order, now)
                else:
                    stranded.append(order.sample)
        # Their sources were reported meanwhile: the engine sends them again, with their places.
        self._staff.lose(stranded, "its source is ready", blamed=False, expected=True)


def _was_read(order: Row | Own | Raw) -> bool:
    """Tell whether a storage was asked for a row."""
    return isinstance(order, Row) and order.raw_offset < 0
