"""What a node learns of recipes while it works, and what new jobs start with."""

from joader.schedule.experience import Experience
from joader.schedule.shares.allocation import Allocation
from joader.schedule.work.actions import Lent
from joader.schedule.work.claims import Claims
from joader.schedule.work.staff import Staff


class Learning:
    """Between what is known from before and what is measured now."""

    def __init__(self, staff: Staff, allocation: Allocation) -> None:
        """Start with nothing known; a caller that has kept some sets `experience`."""
        self._staff, self._allocation = staff, allocation
        self.experience = Experience()
        self._names: dict[int, str] = {}  # of jobs

    def recall(self, claims: Claims, code: str) -> None:
        """Let a new crew start with what is known of its recipe."""
        known = self.experience.of(code)
        if known is not None:
            # Not how many processors its workers keep busy: until they have reported they count as
            # none, so that enough of them start next to others that keep all processors busy.
            claims.shared.pace.recall(known.rows)
            self._staff.knee.recall(code, known.beside)

    def join(self, job: int, lent: Lent) -> None:
        """Let a new job start with how such a job read before."""
        self._names[job] = lent.settings.name
        known = self.experience.of(lent.code)
        habit = known.habit(lent.settings.name) if known is not None else None
        if habit is not None:
            self._allocation.demands[job].recall(habit)

    def leave(self, job: int) -> None:
        """Keep what a leaving job has taught."""
        crew = self._staff.crew_of.get(job)
        if crew is not None:
            self._learn(crew.code)
        self._names.pop(job, None)

    def learn(self) -> None:
        """Keep what all jobs that are here have taught so far."""
        for code in {crew.code for crew in self._staff.crews.values() if crew.jobs}:
            self._learn(code)

    def _learn(self, code: str) -> None:
        crews = [crew for crew in self._staff.crews.values() if crew.code == code]
        paces = [pace for crew in crews if (pace := crew.queue.shared.pace.learned) is not None]
        demands = self._allocation.demands
        habits = {
            self._names[job]: habit
            for job in sorted(job for crew in crews for job in crew.jobs)
            if job in demands and (habit := demands[job].habit) is not None
        }
        beside = self._staff.knee.measured(code)
        self.experience.learn(code, paces[0] if paces else None, beside, habits)
