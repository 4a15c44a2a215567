"""What to do now: one event in, instructions out.

Reading order: `messages`, `limits`, `recipe_rows`, `pieces`, `instances`, `recipes`, `reader`,
`planner`, `supply`, `engine`.
"""

from joader.engine.engine import Engine
from joader.engine.limits import ON_DEMAND, Limits

__all__ = ["ON_DEMAND", "Engine", "Limits"]
