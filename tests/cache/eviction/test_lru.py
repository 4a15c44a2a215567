"""What was not used for longest goes first."""

from joader.cache import Lru
from tests.cache.eviction.naive import machine_of

TestLruAgainstNaive = machine_of(Lru)
