"""What a job is guaranteed, and how far it may be ahead of what it wants.

The defaults are what the daemon runs with. `ON_DEMAND` is for the simulator, where the papers'
figures start at a cache of one sample: nothing is guaranteed and no job is refused, so a job is
planned and prepared for only when it wants something, together with all that want at that moment.
Progress then needs a caller that releases every delivery at once.
"""

from dataclasses import dataclass

from joader.errors import BadArgument


@dataclass(frozen=True, slots=True)
class Limits:
    """One setting for all jobs of an engine."""

    # Guaranteed to every job: a batch in hand and one in preparation. 0 is on demand.
    share_batches: int = 2
    # Samples to look ahead at least. Below this even a job with tiny batches would leave workers
    # idle; at 1 ms a sample it is 32 ms of one core's work, or 8 samples for each of 4 workers.
    least_ahead: int = 32
    # What a job reads in this time is how far it looks ahead, if that is more. It must cover the
    # way of a row: two chunks, its own part included, two reports, and a busy machine's delays.
    horizon_s: float = 0.5
    # One part in `ahead_part` of the memory is for look-ahead beyond the jobs' shares. It takes the
    # place of samples that others will still share: two jobs 30 % of a pass apart, with room
    # for a fifth (a half) of the samples, prepare 2 (1) % more than without look-ahead at 32,
    # 5 (3) % more at 16, and 17 (14) % more at 4 with a horizon of 1 s (decision 0004).
    ahead_part: int = 32
    # How long a job's pace is remembered. Joint draws follow it, so it must not jump with every
    # batch.
    pace_s: float = 1.0

    def __post_init__(self) -> None:
        """Raise BadArgument if a value is out of range."""
        above = min(self.least_ahead, self.horizon_s, self.ahead_part, self.pace_s)
        if self.share_batches < 0 or above <= 0:
            raise BadArgument(f"{self}; share_batches is at least 0, all others are above 0")


ON_DEMAND = Limits(share_batches=0)
