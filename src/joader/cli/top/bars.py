"""Bars and curves of characters: readable without colors, and in ASCII where need be."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Glyphs:
    """What bars and curves are drawn with."""

    full: str
    empty: str
    parts: str  # for the parts of a whole, in order
    steps: str  # for a curve, lowest first
    arrow: str
    mark: str  # of the selected row
    keys: str  # that select one


FINE = Glyphs("█", "░", "█▓▒░", "▁▂▃▄▅▆▇█", arrow="→", mark="▸", keys="↑↓")
PLAIN = Glyphs("#", ".", "#=+-", "_.-=*#", arrow=">", mark=">", keys="up/down")


def glyphs_for(encoding: str, ascii_only: bool = False) -> Glyphs:
    """Return what a terminal of this encoding can show."""
    return FINE if encoding.lower().replace("-", "") == "utf8" and not ascii_only else PLAIN


def bar(value: float, width: int, glyphs: Glyphs) -> str:
    """Return a part of a whole, 0 to 1, as a bar."""
    filled = round(min(1.0, max(0.0, value)) * width)
    return glyphs.full * filled + glyphs.empty * (width - filled)


def cuts(parts: Sequence[float], width: int) -> list[int]:
    """Return how many characters each part of a whole gets; what is not nothing is shown."""
    widths = [max(1, round(part * width)) if part > 0 else 0 for part in parts]
    while sum(widths) > width:
        widths[widths.index(max(widths))] -= 1
    return widths


def curve(values: Sequence[float], width: int, glyphs: Glyphs) -> str:
    """Return the last values as a line of steps from 0 to the highest."""
    shown = list(values)[-width:]
    top = max(shown, default=0.0)
    if top <= 0:
        return glyphs.steps[0] * len(shown)
    last = len(glyphs.steps) - 1
    return "".join(glyphs.steps[round(max(0.0, value) / top * last)] for value in shown)
