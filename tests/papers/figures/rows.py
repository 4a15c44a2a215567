"""The rows of a figure, to be asked for by name."""

from papers.figure import Effort, Figure, Row


def by_case(figure: Figure, effort: Effort) -> dict[str, Row]:
    return {row.case: row for row in figure.rows(0, effort, lambda: None)}


def by_point(figure: Figure, effort: Effort) -> dict[tuple[str, float], Row]:
    return {(row.case, row.x): row for row in figure.rows(0, effort, lambda: None)}
