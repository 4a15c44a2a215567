"""Curves in the terminal, in braille dots: two by four dots a character.

Each curve has a colour and a letter; the letters stand in it here and there, so that curves can be
told apart where there are no colours.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

# Bit of the dot at (column, row) of a character, from U+2800 on.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
COLOURS = ("cyan", "red", "green", "yellow", "magenta", "blue")
LETTERS = "ABCDEF"
SPACING = 6  # columns between the letter of one curve and that of the next

Curve = Sequence[tuple[float, float]]


def chart(curves: Mapping[str, Curve], x_label: str, y_label: str, width: int, height: int) -> str:
    """Return up to six curves as text with rich markup, axes and a legend included."""
    points = [point for curve in curves.values() for point in curve]
    right = max(x for x, _ in points) or 1.0
    top = max(y for _, y in points) or 1.0
    margin = len(f"{top:,.0f}")
    lines = [y_label]
    for number, cells in enumerate(_canvas(list(curves.values()), right, top, width, height)):
        tick = f"{top * (1 - number / (height - 1)):,.0f}" if number % 3 == 0 else ""
        lines.append(f"{tick:>{margin}} │{''.join(cells)}")
    lines.append(f"{'':{margin}} └{'─' * width}")
    end = f"{right:,.0f}"
    lines.append(f"{'':{margin}}  0{x_label:^{width - len(end) - 1}}{end}")
    legend = (
        f"[{colour}]━{letter}━[/] {name}"
        for colour, letter, name in zip(COLOURS, LETTERS, curves, strict=False)
    )
    lines.append(f"{'':{margin}}  " + "   ".join(legend))
    return "\n".join(lines)


def _canvas(
    curves: Sequence[Curve], right: float, top: float, width: int, height: int
) -> list[list[str]]:
    """Return the characters of the plane, line by line, each with its colour."""
    dots = [[0] * width for _ in range(height)]
    cells = [[" "] * width for _ in range(height)]
    letters: dict[tuple[int, int], int] = {}  # line of a letter, by curve and column
    for place, (colour, curve) in enumerate(zip(COLOURS, curves, strict=False)):
        for x, y in _line(curve, 4 * width):
            column = min(2 * width - 1, round(x / right * (2 * width - 1)))
            row = 4 * height - 1 - min(4 * height - 1, round(y / top * (4 * height - 1)))
            line, cell = row // 4, column // 2
            dots[line][cell] |= _DOTS[column % 2][row % 4]
            cells[line][cell] = f"[{colour}]{chr(0x2800 + dots[line][cell])}[/]"
            # Curves take turns, so that letters of curves that run together stand side by side.
            if cell % (SPACING * len(curves)) == SPACING * place + SPACING // 2:
                letters[place, cell] = line
    for (place, cell), line in letters.items():
        cells[line][cell] = f"[{COLOURS[place]}]{LETTERS[place]}[/]"
    return cells


def _line(curve: Curve, steps: int) -> list[tuple[float, float]]:
    """Return points along straight lines between the points of a curve."""
    line = []
    for (x0, y0), (x1, y1) in pairwise(curve):
        for step in range(steps):
            share = step / steps
            line.append((x0 + (x1 - x0) * share, y0 + (y1 - y0) * share))
    return [*line, curve[-1]]
