"""Policies that decide which sample leaves first: one interface, one policy per file.

`RefCount` is the paper's, `ExpectedUse` is ours; `Lru`, `Fifo` and `RandomReplacement` are for
comparison.
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
