"""The labels of jobs on every screen: their script, and the options in which its runs differ.

Four runs of `train.py` are distinguished by the options that differ: `train.py --lr 0.1`. Only this
module decides that, so `status`, `top`, `explain`, the page and a job's last line agree. A label
gets longer when a new run differs in another option; a job's number never changes.

Invariant: jobs that have ended count as long as their figures are kept, so that consecutive runs
can be distinguished, too. Not here: what an option is (client/script.py).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Options = tuple[tuple[str, str], ...]

# Labels are shown in tables: longer ones are cut in the middle.
MOST_LETTERS = 120
# The most text that is kept per client.
_MOST_OPTIONS = 64
_MOST_LETTERS_OF_ONE = 80


@dataclass(frozen=True)
class Run:
    """The properties of a job that may go into its label."""

    name: str  # given by the user, or the script
    options: Options = ()
    rank: int | None = None  # None: the job has no ranks


class Names:
    """The labels of all jobs that are registered, or whose figures are kept."""

    def __init__(self) -> None:
        """Start without jobs."""
        self.labels: dict[int, str] = {}
        self._runs: dict[int, Run] = {}

    def join(self, job: int, run: Run) -> dict[int, str]:
        """Add a job; return all labels that change, including its own."""
        self._runs[job] = _bounded(run)
        before, self.labels = self.labels, labels(self._runs)
        return {job: label for job, label in self.labels.items() if before.get(job) != label}

    def keep(self, jobs: Iterable[int]) -> None:
        """Forget all jobs but these; no label changes."""
        kept = set(jobs)
        self._runs = {job: run for job, run in self._runs.items() if job in kept}
        self.labels = {job: label for job, label in self.labels.items() if job in kept}


def labels(runs: Mapping[int, Run]) -> dict[int, str]:
    """Return the label of each job, given all others."""
    of_name: dict[str, list[Options]] = {}
    for run in runs.values():
        of_name.setdefault(run.name, []).append(run.options)
    differ = {name: _differing(options) for name, options in of_name.items()}
    return {job: _label(run, differ[run.name]) for job, run in runs.items()}


def shortened(text: str, most: int, width: Callable[[str], int] = len) -> str:
    """Cut the middle out of a text: runs of a sweep differ at the end."""
    if width(text) <= most:
        return text
    tail_width, tail = most // 2, ""
    for letter in reversed(text):
        if width(letter + tail) > tail_width:
            break
        tail = letter + tail
    head = ""
    for letter in text:
        if width(f"{head}{letter}…{tail}") > most:
            break
        head += letter
    return f"{head}…{tail}"


def _differing(each: list[Options]) -> set[str]:
    """Return the options in which these runs differ; one that only some runs have counts, too."""
    texts: dict[str, list[str]] = {}
    for options in each:
        for key, text in dict(options).items():
            texts.setdefault(key, []).append(text)
    return {key for key, of in texts.items() if len(of) < len(each) or len(set(of)) > 1}


def _label(run: Run, differing: set[str]) -> str:
    words = [run.name, *(text for key, text in run.options if key in differing)]
    rank = "" if run.rank is None else f", rank {run.rank}"
    return shortened(" ".join(words), MOST_LETTERS - len(rank)) + rank


def _bounded(run: Run) -> Run:
    options = tuple(
        (key[:_MOST_LETTERS_OF_ONE], shortened(text, _MOST_LETTERS_OF_ONE))
        for key, text in run.options[:_MOST_OPTIONS]
    )
    return Run(run.name, options, run.rank)
