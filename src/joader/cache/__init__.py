"""Decides what stays in memory: who needs and who uses a sample, what leaves, which bytes are free.

Reading order: `ledger` (pins and needs; `needs` keeps one job's), `slots` (byte ranges),
`eviction` (which sample leaves first), `neighbors` (which of them leave together if one is too
small), `cache` (joins them).
Not here: the bytes themselves (memory/), what to prepare next (engine/).
"""

from joader.cache.cache import Cache
from joader.cache.eviction import ExpectedUse, Fifo, Lru, Policy, RandomReplacement, RefCount
from joader.cache.ledger import Job, Ledger
from joader.cache.slots import Slots, round_up

__all__ = [
    "Cache",
    "ExpectedUse",
    "Fifo",
    "Job",
    "Ledger",
    "Lru",
    "Policy",
    "RandomReplacement",
    "RefCount",
    "Slots",
    "round_up",
]
