"""Where a sample is, in words, and when what it waits for will be given up."""

from collections.abc import Callable, Sequence

from joader.schedule.work import blame
from joader.schedule.work.blame import Note
from joader.schedule.work.orders import Own
from joader.schedule.work.staff import Staff

AtWork = Callable[[int], Sequence[Note]]


def whereabouts(staff: Staff, sample: int, now: float, at_work: AtWork) -> str:
    """Say in words where a sample is; `at_work` says what a worker works on."""
    worker = staff.holder.get(sample)
    if worker is not None:
        first = next(iter(worker.busy.values()))
        seconds = now - worker.latest
        steps = ", ".join(note.step for note in at_work(worker.id))
        at = f", which is at: {steps}" if steps else ""
        if worker.late:
            at += "; the process does not answer: it is stopped, or has hung since it started"
        where = f"worker process {worker.pid}"
        if first.sample == sample:
            return f"has been with {where} for {seconds:.1f} s{at}"
        what = "a job's own part" if isinstance(first, Own) else f"row {first.row}"
        return f"waits in {where} behind {what}, there for {seconds:.1f} s{at}"
    for crew in staff.crews.values():
        queued = [order.sample for order in crew.queue]
        if sample in queued and not crew.nursery:
            return "waits for the job's worker processes, which have not started yet"
        if sample in queued:
            pids = ", ".join(str(one.pid) for one in crew.workers) or "none yet"
            ahead = queued.index(sample)
            return f"waits behind {ahead} others for a free worker (processes: {pids})"
    if any(own.sample == sample for held in staff.held.values() for _, own in held):
        return "waits for the shared part of its sample"
    return "is in no worker's hands"


def acts_in_s(staff: Staff, sample: int, now: float, at_work: AtWork) -> float | None:
    """Return in how many seconds what a sample waits for is abandoned, if that takes long."""
    holder = staff.holder.get(sample)
    workers = [holder] if holder else []
    for crew in staff.crews.values() if not holder else ():
        if any(order.sample == sample for order in crew.queue):
            workers = crew.workers
    found = [
        blame.acts_in_s(
            [
                (note, staff.limit_s(worker.crew, worker.busy[note.sample]))
                for note in at_work(worker.id)
                if note.sample in worker.busy
            ],
            now,
        )
        for worker in workers
    ]
    return min((seconds for seconds in found if seconds is not None), default=None)
