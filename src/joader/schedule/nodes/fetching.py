"""Where a node gets a sample from: its own memory, another node or storage, prepared or raw.

Whatever takes least time by rates that were measured, with what waits there already. A prepared
sample may be many times as large as its raw bytes: over a slow link raw bytes and a preparation
here can be faster than the prepared sample.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from joader.errors import BadArgument

Form = Literal["raw", "prepared"]


@dataclass(frozen=True)
class Source:
    """A place that has a sample in some form; `waits_s` is how long what is asked there takes."""

    place: str  # "memory", "storage" or the name of a node
    form: Form
    bytes_per_s: float
    latency_s: float = 0.0
    waits_s: float = 0.0

    def seconds(self, size: Mapping[Form, int], prepare_s: float) -> float:
        """Return when the prepared sample is there, if it is asked for now."""
        moving_s = self.latency_s + size[self.form] / self.bytes_per_s
        return self.waits_s + moving_s + (prepare_s if self.form == "raw" else 0.0)

    def after(self, size_bytes: int) -> "Source":
        """Return the source with so many bytes more to send; waiting for it overlaps."""
        return replace(self, waits_s=self.waits_s + size_bytes / self.bytes_per_s)


def fastest(sources: Iterable[Source], size: Mapping[Form, int], prepare_s: float) -> Source:
    """Return the source that has the prepared sample here first; of equals the first given."""
    given = list(sources)
    if not given:
        raise BadArgument("no place has this sample; storage must be among the sources")
    return min(given, key=lambda source: source.seconds(size, prepare_s))
