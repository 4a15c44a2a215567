"""First in, first out, against sorting by admission."""

from joader.cache import Fifo
from tests.cache.eviction.naive import Stage, machine_of

TestFifoAgainstNaive = machine_of(Fifo)


def test_first_in_first_out_however_often_it_is_used():
    stage = Stage(Fifo)
    first, second = stage.admit(1), stage.admit(2)
    stage.pin(first)
    stage.let_go(first)
    assert stage.order() == [first, second]
