"""What to do now: one event in, instructions out.

Reading order: `engine` (every event comes in here), `planner` (who draws how much), `supply` (from
planned to pinned), `preparations` (what becomes of them), `deliveries` (batches that are complete).
A job: `admission` (what is refused, whom memory has room for, who is compared first), `reader` (its
window on its `plan`), `limits` (what it is guaranteed); `team` and `teams` (ranks of one job),
`courses` (their steps, on their way to other nodes). Samples: `stock`, `room`, `sizes`,
`last_resort` (no room at all), `raw_forms` (rows as they are stored), `forecast` (for eviction). A
recipe: `recipes`, `samplers` (one per order) and `pieces` (how rows are numbered). Of
other nodes: `inheritance`, `couplings` (joint draws).
"""

from joader.engine.engine import Engine
from joader.engine.limits import ON_DEMAND, Limits

__all__ = ["ON_DEMAND", "Engine", "Limits"]
