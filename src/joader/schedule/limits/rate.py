"""How fast a count has grown recently."""

# What happened longer ago than this hardly counts.
MEMORY_S = 3.0


class Rate:
    """The rate of a count that is looked at now and then."""

    __slots__ = ("_at", "_grown", "_span_s", "_total")

    def __init__(self) -> None:
        """Start unknown."""
        self._at: float | None = None
        self._total = self._grown = self._span_s = 0.0

    def note(self, total: float, now: float) -> None:
        """Note how large the count is now."""
        if self._at is not None:
            gone_s = max(0.0, now - self._at)
            kept = MEMORY_S / (MEMORY_S + gone_s)
            self._span_s = (self._span_s + gone_s) * kept
            self._grown = (self._grown + total - self._total) * kept
        self._at, self._total = now, total

    @property
    def recent(self) -> float:
        """How much it has grown lately."""
        return self._grown

    @property
    def per_s(self) -> float:
        """How much it grows per second; 0 while that is not known."""
        return self._grown / self._span_s if self._span_s else 0.0
