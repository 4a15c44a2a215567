"""What is measured once, and models are fitted to: short training runs, and short loading runs.

Plain values: who measured them, and where they are kept, is not known here.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operation:
    """What the operations of one kind in a training step do, `count` of them per step.

    For each: floating-point operations per sample, and bytes that it reads and writes: so many per
    sample of the batch, and so many whatever the batch is.
    """

    count: int
    flops: float
    sample_bytes: float
    fixed_bytes: float


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model that is trained: its size, and what one step of it consists of."""

    name: str
    parameters: int
    operations: tuple[Operation, ...]

    @property
    def flops(self) -> float:
        """Floating-point operations per sample, forward and backward."""
        return sum(one.count * one.flops for one in self.operations)


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """How long a step took with the data on the device, so that it never waited for any."""

    architecture: str
    batch: int
    step_s: float
    devices: int = 1


@dataclass(frozen=True, slots=True)
class LoadingRun:
    """What so many workers prepared together of one recipe, and how they spent their time.

    Per row, in seconds of one worker: *read* while it waited for a disk or a network, *prepare* the
    rest of the time, and *computed*, the processor time in it. The difference of the last two is
    time in which it stood in line for a processor.
    """

    recipe: str
    sample_bytes: int
    workers: int
    rows_per_s: float
    read_s: float
    prepare_s: float
    computed_s: float
