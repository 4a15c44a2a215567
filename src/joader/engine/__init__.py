"""What to do now: one event in, instructions out.

Reading order: `engine` (every event comes in here), `planner` (who draws how much), `supply` (from
planned to pinned), `preparations` (what becomes of them), `deliveries` (batches that are complete).
A job: `reader`, made of `plan` and `window`; `limits` (what it is guaranteed), `checks` (what is
refused); `team` and `teams` (ranks of one job), `courses` (their steps, on their way to other
nodes). Samples: `stock`, `room`, `sizes`, `last_resort` (no room at all), `raw_forms` (rows as they
are stored), `forecast` (for eviction). A recipe: `recipes`, `orders` (its samplers), `pieces`
(how rows are numbered), `instances` (fresh preparations), `inspection` (jobs that are
compared), `admission` (jobs that memory has room for). Of other nodes: `inheritance`, `couplings`
(joint draws).
"""

from joader.engine.engine import Engine
from joader.engine.limits import ON_DEMAND, Limits

__all__ = ["ON_DEMAND", "Engine", "Limits"]
