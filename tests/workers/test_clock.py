"""How a worker tells computing from waiting."""

import time

from joader.workers.clock import Clock


def test_what_computes_and_what_waits_are_told_apart() -> None:
    clock = Clock()
    begun = time.monotonic()
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    computed = clock.spent(time.monotonic() - begun)
    assert 0.09 < computed.computed_s < 0.15
    # Others may have had the processor meanwhile; that is no waiting.
    assert computed.waited_s < 0.03
    begun = time.monotonic()
    time.sleep(0.1)
    waited = clock.spent(time.monotonic() - begun)
    assert waited.waited_s > 0.08
    assert waited.computed_s < 0.02
