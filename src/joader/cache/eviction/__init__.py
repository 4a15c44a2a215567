"""Policies that decide which sample leaves first: one interface, one policy per file.

Reading order: `policy` (the interface), `expected_use` (ours, with `buckets`), `ref_count` (the
paper's); for comparison `lru`, `fifo` and `random_replacement`.
"""

from joader.cache.eviction.expected_use import ExpectedUse
from joader.cache.eviction.fifo import Fifo
from joader.cache.eviction.lru import Lru
from joader.cache.eviction.policy import Known, MakePolicy, Policy
from joader.cache.eviction.random_replacement import RandomReplacement
from joader.cache.eviction.ref_count import RefCount

__all__ = [
    "ExpectedUse",
    "Fifo",
    "Known",
    "Lru",
    "MakePolicy",
    "Policy",
    "RandomReplacement",
    "RefCount",
]
