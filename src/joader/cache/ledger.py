"""Counts who is using each prepared sample now, and who will still ask for it.

*Pins*: jobs that hold a lease on it, counted once per lease; a pinned sample is never evicted.
*Needs*: jobs that have not read it in their current pass; they decide what leaves first. Invariant:
pins == leases given and not yet ended. Only `Ledger` changes either, and a call that raises
changes nothing.

A job is known from its first `begin` until `leave`. It has a small number, its bit in the need
masks; the number of a job that left goes to the next one that comes.
Not here: which sample goes first (eviction/), where its bytes are (slots.py).
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from joader.cache.needs import Flags, Needs, Samples, as_samples, needs_of
from joader.errors import BadArgument, BadRows, JobExists, UnknownJob

Job: TypeAlias = Hashable


@dataclass(slots=True)
class _Member:
    """A job as the ledger knows it: its number, what it has to read, its pins per sample."""

    number: int
    needs: Needs
    pins: dict[int, int] = field(default_factory=dict)


class Ledger:
    """Pins and needs of all jobs."""

    def __init__(self) -> None:
        """Start with no jobs."""
        self._members: dict[Job, _Member] = {}
        self._vacant: list[int] = []  # numbers below len(members) + len(vacant) that no job has
        self._reading: dict[int, Needs] = {}  # by the job's bit; only jobs that need something
        self._pins: dict[int, int] = {}  # over all jobs; only pinned samples

    def begin(self, job: Job, samples: npt.ArrayLike) -> None:
        """Start a pass of the job over these distinct samples; the job may be new."""
        member = self._members.get(job)
        if member is not None and member.needs.count:
            raise JobExists(
                f"job {job!r} still has {member.needs.count} samples to read in its pass; "
                "let it read them, or call leave() first"
            )
        needs = needs_of(samples)  # may raise, so before anything changes
        if member is None:
            # The lowest free number, so that need masks stay short.
            number = heappop(self._vacant) if self._vacant else len(self._members)
            self._members[job] = member = _Member(number, needs)
        else:
            member.needs = needs
        if needs.count:
            self._reading[1 << member.number] = needs

    def read(self, job: Job, sample: int) -> None:
        """Note that the job asked for the sample: it no longer needs it in this pass."""
        member = self._member(job)
        if not member.needs.remove(sample):
            raise BadArgument(
                f"job {job!r} does not need sample {sample}: "
                "it is not in the job's pass, or was already read"
            )
        if not member.needs.count:
            del self._reading[1 << member.number]

    def read_each(self, job: Job, samples: npt.ArrayLike) -> None:
        """Do as `read` for each of these distinct samples, all or none."""
        member, array = self._member(job), as_samples(samples)
        needed = member.needs.has_each(array)
        if not needed.all():
            raise BadArgument(
                f"job {job!r} does not need sample {array[~needed][0]}: "
                "it is not in the job's pass, or was already read"
            )
        ordered = np.sort(array)  # ten times as fast as np.unique
        if (ordered[1:] == ordered[:-1]).any():
            raise BadRows(f"some of the {len(array)} samples read are repeated; give each one once")
        member.needs.remove_each(array)
        if not member.needs.count:
            self._reading.pop(1 << member.number, None)

    def end(self, job: Job) -> None:
        """End the job's pass early: it needs no further samples of it; its pins stay."""
        member = self._member(job)
        self._reading.pop(1 << member.number, None)
        member.needs = needs_of(())

    def leave(self, job: Job) -> list[int]:
        """Drop the job's needs and pins; return the samples that no job pins anymore."""
        member = self._member(job)
        del self._members[job]
        self._reading.pop(1 << member.number, None)
        heappush(self._vacant, member.number)
        return [sample for sample, count in member.pins.items() if not self._drop(sample, count)]

    def pin(self, job: Job, sample: int) -> None:
        """Note that the job was given a lease on the sample."""
        pins = self._member(job).pins
        pins[sample] = pins.get(sample, 0) + 1
        self._pins[sample] = self._pins.get(sample, 0) + 1

    def unpin(self, job: Job, sample: int) -> None:
        """Note that one of the job's leases on the sample ended."""
        pins = self._member(job).pins
        count = pins.get(sample, 0)
        if not count:
            raise BadArgument(
                f"job {job!r} holds no lease on sample {sample}; release each lease once"
            )
        if count == 1:
            del pins[sample]
        else:
            pins[sample] = count - 1
        self._drop(sample, 1)

    def pin_each(self, job: Job, samples: list[int]) -> list[int]:
        """Do as `pin` for each; return those that no job had pinned before."""
        pins, all_pins, first = self._member(job).pins, self._pins, []
        for sample in samples:
            pins[sample] = pins.get(sample, 0) + 1
            count = all_pins.get(sample, 0)
            if not count:
                first.append(sample)
            all_pins[sample] = count + 1
        return first

    def unpin_each(self, job: Job, samples: list[int]) -> list[int]:
        """Do as `unpin` for each, all or none; return those that no job pins anymore."""
        pins, all_pins, last = self._member(job).pins, self._pins, []
        # All are checked before any is changed; a sample may be in the list more than once.
        for sample, count in Counter(samples).items():
            if count > pins.get(sample, 0):
                raise BadArgument(
                    f"job {job!r} does not hold {count} leases on sample {sample}; "
                    "release each lease once"
                )
        for sample in samples:
            for counts in (pins, all_pins):
                if counts[sample] == 1:
                    del counts[sample]
                else:
                    counts[sample] -= 1
            if sample not in all_pins:
                last.append(sample)
        return last

    def pinned(self, sample: int) -> bool:
        """Return whether any job holds a lease on the sample."""
        return sample in self._pins

    def unpinned(self, samples: Iterable[int]) -> list[int]:
        """Return those of these samples that no job holds a lease on."""
        pins = self._pins
        return [sample for sample in samples if sample not in pins]

    def needs(self, sample: int) -> int:
        """Return the bit mask, over job numbers, of the jobs that will still ask for the sample."""
        mask = 0
        for bit, needs in self._reading.items():
            if needs.has(sample):
                mask |= bit
        return mask

    def needs_each(self, samples: Samples) -> list[int]:
        """Return the need mask of each sample."""
        # One column of flags per job, packed into bytes: there may be more than 64 jobs, so the
        # masks do not fit NumPy's integers.
        width = max((bit.bit_length() for bit in self._reading), default=0) + 7 >> 3
        flags = np.zeros((len(samples), width * 8), np.bool_)
        for bit, needs in self._reading.items():
            flags[:, bit.bit_length() - 1] = needs.has_each(samples)
        masks = np.packbits(flags, axis=1, bitorder="little").tobytes()
        return (
            [
                int.from_bytes(masks[start : start + width], "little")
                for start in range(0, width * len(samples), width)
            ]
            if width
            else [0] * len(samples)
        )

    def need_count(self, sample: int) -> int:
        """Return how many jobs will still ask for the sample."""
        return self.needs(sample).bit_count()

    def needed(self, job: Job, samples: Samples) -> Flags:
        """Return for each sample whether the job will still ask for it."""
        return self._member(job).needs.has_each(samples)

    def unread(self, job: Job) -> int:
        """Return how many samples the job still needs in its pass."""
        return self._member(job).needs.count

    def number(self, job: Job) -> int:
        """Return the job's number: the position of its bit in the need masks."""
        return self._member(job).number

    def _member(self, job: Job) -> _Member:
        member = self._members.get(job)
        if member is None:
            raise UnknownJob(f"job {job!r} never began a pass, or has left; call begin() first")
        return member

    def _drop(self, sample: int, count: int) -> int:
        """Remove pins and return how many are left."""
        left = self._pins[sample] - count
        if left:
            self._pins[sample] = left
        else:
            del self._pins[sample]
        return left
