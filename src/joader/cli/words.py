"""Figures and names as people read them; the same in every command."""

from joader.errors import size_in_words
from joader.statistics import DiagnosisStatistics, FlowStatistics

size = size_in_words


def counted(count: int, name: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time to its two largest units: 45s, 3:05, 2h10m, 3d4h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    if whole < 24 * 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d{whole % 86400 // 3600}h"


def ago(time: float, now: float) -> str:
    """Return how long ago something was."""
    return f"{duration(max(0.0, now - time))} ago"


def rate(per_s: float) -> str:
    """Return a rate in at most five characters as far as it goes."""
    return f"{per_s:,.0f}" if per_s >= 10 or not per_s else f"{per_s:.1f}"


def part(value: float | None) -> str:
    """Return a part of a whole, 0 to 1, as percent."""
    return "-" if value is None else f"{value:.0%}"


def printable(text: str) -> str:
    """Return text that is not ours so that it cannot control a terminal."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


def advice(diagnosis: DiagnosisStatistics) -> str:
    """Return what limits a job or the node, and what helps."""
    return f"{diagnosis.says} {diagnosis.do}".strip()


def flow_words(flow: FlowStatistics) -> list[str]:
    """Return where samples are, in the order of their way."""
    return [
        f"{flow.to_come:,} to come",
        f"{flow.planned:,} planned",
        f"{flow.preparing:,} preparing",
        f"{flow.ready:,} ready",
        f"{flow.held:,} in use",
    ]
