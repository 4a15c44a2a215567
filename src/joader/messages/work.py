"""What workers are told to do, what they report, and what happens to samples."""

from typing import TypeVar

from joader.errors import BadMessage
from joader.messages.fields import Integers, Job, Message, Natural, Naturals

T = TypeVar("T")

# The bits of `times` that say how often a position came before; those above, how often it was begun
# again, which own parts ignore: they are the same whatever sample they are made of.
TIMES = (1 << 24) - 1


class Prepare(Message, frozen=True):
    """Prepare rows of a recipe, for this job first, and write them to their slots.

    To a worker the recipe is not named: it has one. An offset of -1: there is no slot yet, so say
    `Sized`. The random numbers of each start from the pass's key, the position, and how often that
    came before in it.

    `raws`, if any, are the raw forms of the rows, -1 for none: the row is prepared from one that
    has an offset (and a layout), and else read, and its raw form kept and reported with it.

    `whole`: the job's own part is done on each, too, and only its result is written: no
    other job gets the row as it was prepared.
    """

    recipe: str
    job: Job
    key: int
    samples: Integers
    rows: Integers
    positions: Integers
    times: Integers
    offsets: Integers
    sizes: Integers
    at_once: Natural = 0  # how many of them, and of those before, may be read at a time; 0: as told
    raws: Integers = ()
    raw_offsets: Integers = ()
    raw_layouts: tuple[bytes, ...] = ()
    whole: bool = False


class Finish(Message, frozen=True):
    """Do a job's own part on prepared samples, and write the results to slots of their own.

    A source is ready, and its layout known, or a Prepare for it came before this (source
    offset -1, no layout) and lies in its slot before long.
    """

    job: Job
    key: int
    samples: Integers
    sources: Integers
    source_offsets: Integers
    positions: Integers
    times: Integers
    offsets: Integers
    sizes: Integers
    layouts: tuple[bytes, ...] = ()  # of the sources


class Place(Message, frozen=True):
    """Write samples that were `Sized` to these slots."""

    samples: Integers
    offsets: Integers
    sizes: Integers


class Drop(Message, frozen=True):
    """Forget samples that were `Sized`: no job wants them any more, or no memory is enough."""

    samples: Integers


class Compare(Message, frozen=True):
    """Prepare a row that is in a slot already, and compare: jobs that share must agree.

    Its random numbers start where those of the sample did: see `Prepare`. If that is not known, the
    sample is of a job that says there are none. `fresh`: the job that compares does not say so.
    """

    job: Job
    sample: int
    recipe: str
    row: int
    offset: int
    layout: bytes = b""
    key: int = 0
    position: int = 0
    times: int = 0
    fresh: bool = False


class HandBack(Message, frozen=True):
    """Ask a busy worker to return the rows it has not begun, so that others can take them."""


class Prepared(Message, frozen=True):
    """Samples are in their slots, `sizes` bytes each; without sizes, all of them are full.

    Sizes and layouts are of each sample, or one that all have. `seconds` is how long the worker
    took for them: it computed for `computed_s` of it, in all its threads together, and waited for a
    disk, a network or a lock for `waited_s`; the rest it wanted a processor and had none. For
    `read_s` of them it had `reads` rows read, and nothing else; for `own_s` it did own parts of
    rows that were prepared whole.
    """

    samples: Naturals
    sizes: Naturals = ()
    layouts: tuple[bytes, ...] = ()
    seconds: float = 0.0
    computed_s: float = -1.0  # below 0: not known
    waited_s: float = -1.0
    copied: bool = False  # another node has prepared them, and keeps them
    read_s: float = 0.0
    reads: Natural = 0
    # Of each sample: the bytes of its raw form, which waits for a slot as if it was `Sized`; 0:
    # nothing waits.
    raw_sizes: Naturals = ()
    own_s: float = 0.0

    @property
    def size_of_each(self) -> Naturals:
        """The bytes of each sample; 0: all of its slot."""
        return _of_each(self.sizes or (0,), len(self.samples))

    @property
    def raw_size_of_each(self) -> Naturals:
        """The bytes of the raw form of each sample that waits for a slot; 0: there is none."""
        return _of_each(self.raw_sizes or (0,), len(self.samples))

    @property
    def layout_of_each(self) -> tuple[bytes, ...]:
        """The layout of each sample."""
        return _of_each(self.layouts or (b"",), len(self.samples))


def _of_each(values: tuple[T, ...], count: int) -> tuple[T, ...]:
    if len(values) != 1 and len(values) != count:
        raise BadMessage(f"{len(values)} values for {count} samples")
    return values * count if len(values) == 1 else values


class LastCopies(Message, frozen=True):
    """A node has gone: what it kept for others may be here alone now."""


class Moved(Message, frozen=True):
    """Another node keeps these samples now: what is here is a copy."""

    samples: Integers


class Sized(Message, frozen=True):
    """Samples are prepared but do not fit their slots, or have none: how many bytes they need."""

    samples: Naturals
    sizes: Naturals


class Failed(Message, frozen=True):
    """A sample could not be prepared: the step and the original traceback.

    The first line names the exception's class, as module and qualified name (see `raised`).
    """

    sample: int
    reason: str


class Compared(Message, frozen=True):
    """A job's worker has prepared what is here once more; was it the same?"""

    job: Job
    sample: Natural
    same: bool = True


class NotBegun(Message, frozen=True):
    """Answer HandBack: the worker has nothing to do with these samples any more."""

    samples: Integers


class Lost(Message, frozen=True):
    """The worker that prepared these samples died, by them (`blamed`) or with them in hand."""

    samples: Integers
    reason: str
    blamed: bool = True


class Late(Message, frozen=True):
    """The worker that has these samples does not answer, and may still write to their slots.

    Told again and again, as others may come to wait for them, or find room now. Own parts that wait
    for one of them in nobody's hands are forgotten by the sender: they are sent again.
    """

    samples: Integers


class Inspect(Message, frozen=True):
    """A job's workers are to show that they prepare as others did, before it gets anything."""

    job: Job


class Forget(Message, frozen=True):
    """These samples are no longer in their slots."""

    samples: Integers
