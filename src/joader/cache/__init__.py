"""Decides what stays in memory: what jobs still need, what leaves, and which bytes are free.

Reading order: `table` (all samples, one array per field), `demand` (what each job will still ask
for; `needs` keeps it for one job), `runs` (slots of one size, and the memory they are cut from),
`eviction` (which sample leaves first), `cache` (joins them), `two_forms` (which rows stay raw).

Not here: the bytes themselves (memory/), what to prepare next (engine/).
"""

from joader.cache.cache import Cache
from joader.cache.demand import Demand, Forecast, Job
from joader.cache.eviction import (
    ExpectedUse,
    Fifo,
    Known,
    Lru,
    MakePolicy,
    Policy,
    RandomReplacement,
    RefCount,
)
from joader.cache.runs import class_bytes, round_up
from joader.cache.table import NOBODY, NOWHERE, PREPARING, READY, Table

__all__ = [
    "NOBODY",
    "NOWHERE",
    "PREPARING",
    "READY",
    "Cache",
    "Demand",
    "ExpectedUse",
    "Fifo",
    "Forecast",
    "Job",
    "Known",
    "Lru",
    "MakePolicy",
    "Policy",
    "RandomReplacement",
    "RefCount",
    "Table",
    "class_bytes",
    "round_up",
]
