"""The paper's policy: what fewest jobs need goes first."""

from joader.cache import RefCount
from tests.cache.eviction.naive import machine_of

TestRefCountAgainstNaive = machine_of(RefCount)
