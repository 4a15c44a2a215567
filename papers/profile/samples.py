"""The file between measuring and fitting: what was measured, and on which machine."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from joader.cli.files import write_text
from joader.errors import BadArgument, BadData
from papers.models.runs import Architecture, LoadingRun, TrainingRun

FORM = 1


@dataclass(frozen=True)
class Samples:
    """All runs of one `joader profile`."""

    machine: dict[str, str]
    device: str
    architectures: list[Architecture] = field(default_factory=list)
    training: list[TrainingRun] = field(default_factory=list)
    loading: list[LoadingRun] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # what could not be measured, and why
    form: int = FORM


def write_samples(samples: Samples, path: str) -> None:
    """Keep them."""
    write_text(path, msgspec.json.encode(samples).decode() + "\n")


def read_samples(path: str) -> Samples:
    """Read them again; BadData if the file is damaged or of another kind."""
    try:
        body = Path(path).read_bytes()
    except OSError as error:
        raise BadArgument(f"cannot read {path!r}: {error.strerror or error}") from error
    return decoded(body, path)


def decoded(body: bytes, path: str) -> Samples:
    """Return the samples in the body of a file."""
    hint = "make one with `joader profile --collect FILE`"
    try:
        found = msgspec.json.decode(body, type=Samples)
    except msgspec.MsgspecError as error:
        raise BadData(f"{path!r} is damaged, or not a file of samples ({error}); {hint}") from error
    if found.form != FORM:
        raise BadData(
            f"{path!r} was written by another version of joader (form {found.form}, this one reads "
            f"{FORM}); {hint}"
        )
    known = {one.name for one in found.architectures}
    missing = {run.architecture for run in found.training} - known
    if missing:
        raise BadData(f"{path!r} has runs of {sorted(missing)[0]!r} and does not say what it is")
    times = [run.step_s for run in found.training] + [run.rows_per_s for run in found.loading]
    if any(not 0.0 < value < float("inf") for value in times):
        raise BadData(f"{path!r} has a run that took no time, or for ever; {hint}")
    counts = [run.batch for run in found.training] + [run.workers for run in found.loading]
    if any(count < 1 for count in counts):
        raise BadData(f"{path!r} has a run with a batch or a number of workers below 1; {hint}")
    return found
