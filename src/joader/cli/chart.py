"""Curves in the terminal, in braille dots: two by four dots a character."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

# Bit of the dot at (column, row) of a character, from U+2800 on.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
COLOURS = ("cyan", "red", "green", "yellow", "magenta", "blue")

Curve = Sequence[tuple[float, float]]


def chart(curves: Mapping[str, Curve], x_label: str, y_label: str, width: int, height: int) -> str:
    """Return the curves as text with rich markup, axes and a legend included."""
    points = [point for curve in curves.values() for point in curve]
    right = max(x for x, _ in points) or 1.0
    top = max(y for _, y in points) or 1.0
    dots = [[0] * width for _ in range(height)]
    owner = [[""] * width for _ in range(height)]
    for colour, curve in zip(COLOURS, curves.values(), strict=False):
        for x, y in _line(curve, 4 * width):
            column = min(2 * width - 1, round(x / right * (2 * width - 1)))
            row = 4 * height - 1 - min(4 * height - 1, round(y / top * (4 * height - 1)))
            dots[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
            owner[row // 4][column // 2] = colour
    margin = len(f"{top:,.0f}")
    lines = [y_label]
    for number, (line, colours) in enumerate(zip(dots, owner, strict=True)):
        tick = f"{top * (1 - number / (height - 1)):,.0f}" if number % 3 == 0 else ""
        cells = (
            f"[{colour}]{chr(0x2800 + dot)}[/]" if dot else " "
            for dot, colour in zip(line, colours, strict=True)
        )
        lines.append(f"{tick:>{margin}} │{''.join(cells)}")
    lines.append(f"{'':{margin}} └{'─' * width}")
    end = f"{right:,.0f}"
    lines.append(f"{'':{margin}}  0{x_label:^{width - len(end) - 1}}{end}")
    legend = (f"[{colour}]━━[/] {name}" for colour, name in zip(COLOURS, curves, strict=False))
    lines.append(f"{'':{margin}}  " + "   ".join(legend))
    return "\n".join(lines)


def _line(curve: Curve, steps: int) -> list[tuple[float, float]]:
    """Return points along straight lines between the points of a curve."""
    line = []
    for (x0, y0), (x1, y1) in pairwise(curve):
        for step in range(steps):
            share = step / steps
            line.append((x0 + (x1 - x0) * share, y0 + (y1 - y0) * share))
    return [*line, curve[-1]]
