"""Acts on workers as time passes: slow, late, idle and growing ones."""

from collections.abc import Mapping

from joader.messages import HandBack, Late
from joader.schedule.work import blame
from joader.schedule.work.actions import Abandon, Give, Seen, Warn
from joader.schedule.work.blame import LATE_LOOKS, LATE_S, STUCK_S
from joader.schedule.work.crew import Worker
from joader.schedule.work.staff import Staff

# A worker that has had nothing to do for this long ends.
IDLE_S = 10.0
# … or for this long, while others of its crew read from a storage that can take no more requests.
HELD_BACK_S = 60.0
# A worker that was asked for and has not come in this time will not come.
_BIRTH_S = 30.0


class Watch:
    """Looks at all workers of a staff now and then."""

    def __init__(self, staff: Staff, most_growth_bytes: int) -> None:
        """Watch this staff; a worker that grows by more than `most_growth_bytes` is replaced."""
        self._staff = staff
        self._most_growth_bytes = most_growth_bytes
        self._seen = blame.SeenBefore()

    def look(self, now: float, seen: Mapping[int, Seen]) -> None:
        """Act on workers that are slow, late, growing or not needed."""
        for crew in list(self._staff.crews.values()):
            crew.born = {n: since for n, since in crew.born.items() if now - since < _BIRTH_S}
            for worker in crew.workers:
                if worker.is_stuck(now):
                    crew.note_stuck(worker)
                if not worker.overdue and worker.id in seen:
                    self._look_at(worker, seen[worker.id], now)
            takes_work = any(not (one.leaving or one.late) for one in crew.workers)
            if not crew.queue or takes_work:
                crew.in_vain = None
            elif crew.in_vain is None:
                crew.in_vain = now
        self._seen.end_look()
        self._relieve(now)

    def _look_at(self, worker: Worker, seen: Seen, now: float) -> None:
        overdue = [
            note
            for note in seen.at_work
            if note.sample in worker.busy
            and now - note.since > self._staff.limit_s(worker.crew, worker.busy[note.sample])
        ]
        again = self._seen.again(worker.id, overdue)
        if again:
            text = f"worker {worker.pid} is killed: {again[0].step} took too long"
            self._staff.out.append(Warn(text))
            worker.leaving = True
            worker.crew.note_room(worker)
            worker.overdue = tuple(again)
            self._staff.out.append(Abandon(worker.id))
        # Also those that leave once they have done what they have: jobs wait for it.
        elif worker.asked_back is not None:
            worker.silent += blame.could_answer(worker.pulse, seen.pulse)
            if now - worker.asked_back > LATE_S and worker.silent >= LATE_LOOKS:
                self._note_late(worker)
        elif worker.is_stuck(now):
            worker.asked_back, worker.pulse, worker.silent = now, seen.pulse, 0
            self._staff.out.append(Give(worker.id, [HandBack()]))
        elif not worker.leaving and (
            self._has_grown(worker, seen.private_bytes)
            or (not worker.busy and now - worker.latest > self._idle_s(worker))
        ):
            self._staff.retire(worker)

    def _idle_s(self, worker: Worker) -> float:
        """Return how long a worker may have nothing to do."""
        # Its storage may turn slow again, and more of them be needed at once.
        held_back = worker.crew.code in self._staff.storages and worker.crew.at_work
        return HELD_BACK_S if held_back else IDLE_S

    def _note_late(self, worker: Worker) -> None:
        """Have others do what a worker has that does not answer.

        Not only once: a job that asks for one of its rows later, or had no room before, waits, too.
        """
        if not worker.late:
            text = f"others do the {len(worker.busy)} samples that it has"
            self._staff.out.append(Warn(f"worker {worker.pid} does not answer; {text}"))
        worker.late = True
        worker.crew.note_room(worker)
        samples = tuple(worker.busy)
        self._staff.let_go(samples)
        self._staff.tell(Late(samples))

    def _has_grown(self, worker: Worker, private_bytes: int) -> bool:
        """Tell whether a worker has grown by more than it may since it had done its first rows."""
        if not worker.done or not private_bytes:
            return False
        worker.bytes_at_first = worker.bytes_at_first or private_bytes
        grown = private_bytes - worker.bytes_at_first
        if grown <= self._most_growth_bytes:
            return False
        text = (
            f"worker {worker.pid} has grown by {grown >> 20} MiB since its first rows (at most "
            f"{self._most_growth_bytes >> 20} are allowed): the dataset keeps more and more; the "
            "worker is replaced"
        )
        self._staff.out.append(Warn(text))
        return True

    def _relieve(self, now: float) -> None:
        """Let other crews do rows that wait for workers that are stopped, or slow to start.

        All jobs may wait for one of them: the first sample of a recipe tells the size of samples.
        """
        crews = self._staff.crews.values()
        stalled = [one for one in crews if one.in_vain is not None and now - one.in_vain > STUCK_S]
        for crew in stalled:
            able = [
                one
                for one in crews
                if one.code == crew.code and one.jobs and one.nursery and one not in stalled
            ]
            if able:
                chosen = min(able, key=lambda one: len(one.queue))
                self._staff.queue_rows(chosen, crew.queue.surrender())
