"""Decides what stays in memory: what jobs still need, what leaves, and which bytes are free.

Reading order: `table` (all samples, one array per field), `demand` (who will still ask for what;
`needs` keeps one job's), `runs` (memory, cut into slots of one size), `eviction/` (which sample
leaves first), `cache` (joins them), `two_forms` (raw or prepared: what is worth its memory).

Not here: the bytes themselves (memory/), what to prepare next (engine/).
"""

from typing import TYPE_CHECKING

from joader.lazy import export_lazily

if TYPE_CHECKING:
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

export_lazily(
    __name__,
    {
        "cache": ("Cache",),
        "demand": ("Demand", "Forecast", "Job"),
        "eviction": (
            "ExpectedUse",
            "Fifo",
            "Known",
            "Lru",
            "MakePolicy",
            "Policy",
            "RandomReplacement",
            "RefCount",
        ),
        "runs": ("class_bytes", "round_up"),
        "table": ("NOBODY", "NOWHERE", "PREPARING", "READY", "Table"),
    },
)
