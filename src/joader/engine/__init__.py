"""What to do now: one event in, instructions out.

Reading order: `values`, `recipe_rows`, `instances`, `recipes`, `reader`, `planner`, `supply`,
`engine`.
"""

from joader.engine.engine import Engine
from joader.engine.reader import Stats

__all__ = ["Engine", "Stats"]
