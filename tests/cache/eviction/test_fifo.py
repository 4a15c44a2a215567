"""What came first goes first."""

from joader.cache import Fifo
from tests.cache.eviction.naive import machine_of

TestFifoAgainstNaive = machine_of(Fifo)
