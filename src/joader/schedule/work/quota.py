"""So many worker-seconds per second and no more: a bucket that fills at a steady rate.

What is handed out is taken before it is known exactly, so the bucket may go below empty; nobody
draws from it until it has filled again. It holds BURST_S of its rate at most: who left it alone for
a while may not make up for that later.
"""

# Longer than a chunk: else a claimant with one worker would stop after each.
BURST_S = 0.2
# Not sooner than this is it looked at again: less than a chunk, and more than a turn of the loop.
_SOON_S = 0.002


class Quota:
    """What may be used, as time passes."""

    __slots__ = ("_at", "left_s", "rate")

    def __init__(self, rate: float, now: float) -> None:
        """Start full."""
        self.rate = rate
        self.left_s = rate * BURST_S
        self._at = now

    def pass_time(self, now: float) -> None:
        """Let it fill until now."""
        gone_s = max(0.0, now - self._at)
        self._at = max(now, self._at)
        self.left_s = min(self.rate * BURST_S, self.left_s + self.rate * gone_s)

    def take(self, seconds: float) -> None:
        """Take so much out; less than 0: too much was taken before."""
        self.left_s -= seconds

    @property
    def open(self) -> bool:
        """Whether anything may be handed out."""
        return self.left_s > 0.0

    @property
    def opens_in_s(self) -> float:
        """How long until something may be handed out."""
        return 0.0 if self.open else max(_SOON_S, -self.left_s / self.rate)
