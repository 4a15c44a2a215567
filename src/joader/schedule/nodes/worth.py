"""Whether a row is worth fetching from its home, and how long to wait for it, by what was measured.

A sample comes from another node or from storage, prepared or raw: whichever takes least time by the
measured rates, including what already waits there (`fastest`). A prepared sample may be many times
as large as its raw bytes, so over a slow link reading and preparing it here can be faster. While
nothing is known, one message's worth of rows is fetched to measure.

Not here: whose home a row is (placement.py), and whether its node prepares the same (trust.py).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from joader.errors import BadArgument

# Rows that are asked for in one message, and so half of what a node may hold of another's.
MOST_ROWS = 32
# How long a home may take for rows that no job has asked for there, at least and at most.
PATIENCE_S = 2.0
MOST_PATIENCE_S = 20.0
# Of what was measured, how much the latest counts.
_LATEST = 0.1
# One row in this many that would not pay is fetched nevertheless: measurements may be old.
_LOOK_AGAIN = 512
# What a row costs on both sides in addition to its bytes.
_ROW_S = 60e-6


@dataclass
class _Mean:
    """A recent mean; 0 until something was measured."""

    value: float = 0.0

    def note(self, now: float) -> None:
        self.value += (_LATEST if self.value else 1.0) * (now - self.value)


class Worth:
    """How long rows take to prepare, and bytes to come, as measured."""

    def __init__(self) -> None:
        """Start with nothing measured."""
        self._prepare_s: defaultdict[str, _Mean] = defaultdict(_Mean)  # by code
        self._size: defaultdict[str, _Mean] = defaultdict(_Mean)
        self._bytes_per_s: defaultdict[str, _Mean] = defaultdict(_Mean)  # by node
        self._skipped: defaultdict[str, int] = defaultdict(int)  # by code
        self.too_dear = 0  # rows that were prepared here because that takes less time

    def prepared(self, code: str, seconds: float, size_bytes: float) -> None:
        """Note what a row took a worker of this node, and how large it is."""
        self._prepare_s[code].note(seconds)
        self._size[code].note(size_bytes)

    def came(self, node: str, bytes_per_s: float) -> None:
        """Note how fast bytes come from a node."""
        self._bytes_per_s[node].note(bytes_per_s)

    def forget(self, node: str) -> None:
        """Forget a node that has gone."""
        self._bytes_per_s.pop(node, None)

    def pays(self, code: str, node: str, coming: Iterable[str], cores: int) -> bool:
        """Tell whether a row is here sooner from a node than from this node's workers.

        `coming`: of all rows that are on their way, the nodes that they come from.
        """
        prepare_s, bytes_per_s = self._prepare_s[code].value, self._bytes_per_s[node].value
        if not bytes_per_s or not prepare_s:
            # The first rows measure the link. Only few: over a slow link all of them would be late.
            return sum(whose == node for whose in coming) < MOST_ROWS
        size: dict[Form, int] = {"prepared": int(self._size[code].value), "raw": 0}
        sources = [
            Source(node, "prepared", bytes_per_s, _ROW_S),
            Source("storage", "raw", float("inf")),
        ]
        if fastest(sources, size, prepare_s / cores).place == node:
            return True
        self._skipped[code] += 1
        self.too_dear += 1
        return self._skipped[code] % _LOOK_AGAIN == 0

    def patience_s(self, code: str, rows: int) -> float:
        """Return how long a home may take for rows, with those that were asked for before."""
        return min(MOST_PATIENCE_S, PATIENCE_S + 4 * self._prepare_s[code].value * rows)


Form = Literal["raw", "prepared"]


@dataclass(frozen=True)
class Source:
    """A place that has a sample in some form; requests there wait for `waits_s` now."""

    place: str  # "memory", "storage" or the name of a node
    form: Form
    bytes_per_s: float
    latency_s: float = 0.0
    waits_s: float = 0.0

    def seconds(self, size: Mapping[Form, int], prepare_s: float) -> float:
        """Return in how many seconds the prepared sample is here if it is asked for now."""
        moving_s = self.latency_s + size[self.form] / self.bytes_per_s
        return self.waits_s + moving_s + (prepare_s if self.form == "raw" else 0.0)

    def after(self, size_bytes: int) -> "Source":
        """Return the source with `size_bytes` more to send; waiting for it overlaps."""
        return replace(self, waits_s=self.waits_s + size_bytes / self.bytes_per_s)


def fastest(sources: Iterable[Source], size: Mapping[Form, int], prepare_s: float) -> Source:
    """Return the source that has the prepared sample here first; of equals the first given."""
    given = list(sources)
    if not given:
        raise BadArgument("no place has this sample; storage must be among the sources")
    return min(given, key=lambda source: source.seconds(size, prepare_s))
