"""What to do now: one event in, instructions out.

Reading order: `messages`, `limits`; what is numbered: `recipe_rows`, `pieces`, `instances`,
`recipes`; a job: `plan`, `window`, `sizes`, `reader`, `team`; samples: `stock`, `room`, `supply`,
`preparations`, `deliveries`; `checks`, `planner`, `engine`.
"""

from joader.engine.engine import Engine
from joader.engine.limits import ON_DEMAND, Limits

__all__ = ["ON_DEMAND", "Engine", "Limits"]
