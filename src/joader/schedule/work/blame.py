"""Which rows pay for a worker that is slow, hangs, grows or dies.

A worker that dies takes all it has in hand with it. Its desk says what it worked on: that row is to
blame, loses a try, and is *suspect* until it went well once: it is done alone, so that it takes
nothing with it again. The rest goes to the next worker as if nothing had happened. A row that
exceeds the timeout of the jobs that read it is abandoned with its worker; it fails. A worker that
works on one row for long is asked for what it has not begun; one that does not even answer is
stopped (SIGSTOP, `docker pause`) or in native code that holds the interpreter, and is *late*. One
that wants a processor and gets none is neither: on a full machine all processes wait.
"""

from collections.abc import Iterable
from typing import NamedTuple

# Without a report for this long, a worker is asked for what it has not begun …
STUCK_S = 1.0
# … and without an answer for this long, others do what it has.
LATE_S = 1.0
# How often a worker that could have answered must be seen silent: the daemon may have lacked time,
# too.
LATE_LOOKS = 2
# A process that has had this much of a processor could have answered: the interpreter changes
# threads every 5 ms.
_ANSWER_CPU_S = 0.2
_SOON_S = 0.1


class Note(NamedTuple):
    """What a worker works on: a sample, which step, since when."""

    sample: int
    since: float
    step: str


class Pulse(NamedTuple):
    """What a process has had of the machine, and whether it waits for more."""

    cpu_s: float
    runnable: bool


def could_answer(before: Pulse | None, now: Pulse | None) -> bool:
    """Tell whether a process has had the processor time to answer since then, or wants none.

    A process that is stopped, or sleeps with the interpreter held, is not waiting for a processor.
    If nothing is known (another pid namespace), it is assumed to be able to.
    """
    if before is None or now is None:
        return True
    return not now.runnable or now.cpu_s - before.cpu_s >= _ANSWER_CPU_S


class SeenBefore:
    """Rows that had taken too long when workers were last looked at.

    A row is abandoned only if it is seen twice: a machine that slept makes everything look slow.
    """

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._before: dict[tuple[int, int], float] = {}  # (worker, sample) to since when
        self._now: dict[tuple[int, int], float] = {}

    def again(self, worker: int, overdue: Iterable[Note]) -> list[Note]:
        """Return those that were overdue the last time, too."""
        notes = list(overdue)
        self._now |= {(worker, note.sample): note.since for note in notes}
        return [n for n in notes if self._before.get((worker, n.sample)) == n.since]

    def end_look(self) -> None:
        """Note that all workers were looked at."""
        self._before, self._now = self._now, {}


def acts_in_s(limits: Iterable[tuple[Note, float]], now: float) -> float | None:
    """Return in how many seconds something is abandoned, if one is half way there.

    `limits`: what a worker works on, and how many seconds each may take.
    """
    slow = [
        note.since + limit_s - now for note, limit_s in limits if now - note.since >= limit_s / 2
    ]
    return max(_SOON_S, min(slow)) if slow else None


def whose_fault(
    in_hand: Iterable[int], at_work: Iterable[Note], innocent: bool
) -> tuple[list[int], list[int]]:
    """Return the samples that are to blame for a worker's death, and those that are not.

    `innocent`: it was told to end, or went with a nursery that was killed. If it is not known what
    it worked on, all it had is to blame.
    """
    samples = list(in_hand)
    if innocent:
        return [], samples
    working = {note.sample for note in at_work}
    blamed = [sample for sample in samples if sample in working] or samples
    return blamed, [sample for sample in samples if sample not in blamed]


def death(code: int | None, at_work: Iterable[Note] = (), trace: str = "") -> str:
    """Say in words how a worker died, and at what."""
    how = "it is not known how"
    if code is not None:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
    reason = f"the worker that prepared it died ({how})"
    steps = ", ".join(note.step for note in at_work)
    return f"{reason}\nIt was at: {steps}. {trace}".rstrip() if steps else reason


def too_long(note: Note, limit_s: float, pid: int, trace: str) -> str:
    """Say in words why a row was abandoned."""
    return (
        f"{note.step} took more than {limit_s:g} s, which is the job's timeout, so its worker "
        f"process {pid} was killed (DataLoader timed out after {limit_s:g} seconds). If it is slow "
        "and does not hang, give a larger timeout=."
        f"\n{trace}"
    ).rstrip()
