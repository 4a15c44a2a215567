"""A training job on a virtual clock: it asks ahead, waits, trains, and says what it has done."""

import numpy as np
import pytest

from joader.client.order.ordering import AHEAD
from joader.messages import Begin, Deliver, Event, Leave, Release, Want
from joader.simulator.machine.clock import Clock
from joader.simulator.machine.resource import Resource
from joader.simulator.machine.trainer import Trainer
from joader.simulator.machine.workload import JobSpec

ANSWER_S = 0.25


def trained(spec: JobSpec) -> tuple[Trainer, list[Event]]:
    """Let a job read from a daemon that answers each want after ANSWER_S."""
    clock, said = Clock(), list[Event]()
    gpu = Resource(clock, lambda users: 1.0 / users)

    def say(event: Event) -> None:
        said.append(event)
        if isinstance(event, Want):
            rows = np.arange(event.count)
            batch = Deliver(1, rows, rows, rows, event.count, 0)
            clock.after(ANSWER_S, lambda: trainer.deliver(batch))

    trainer = Trainer(clock, gpu, spec, 1, say)
    trainer.start()
    clock.run(1e6, lambda: trainer.over)
    return trainer, said


def test_it_reads_each_pass_whole_and_leaves() -> None:
    trainer, said = trained(JobSpec("job", rows=250, batch=100, step_ms=1000.0, epochs=2))
    assert trainer.delivered == 500
    assert [event.count for event in said if isinstance(event, Want)] == [100, 100, 50] * 2
    assert [event.epoch for event in said if isinstance(event, Begin)] == [0, 1]
    assert sum(isinstance(event, Release) for event in said) == 6
    assert isinstance(said[-1], Leave)
    assert all(isinstance(event, Want) for event in said[1 : 1 + min(AHEAD, 3)])


def test_it_waits_for_the_first_batch_only_if_the_others_come_while_it_trains() -> None:
    trainer, _ = trained(JobSpec("job", rows=250, batch=100, step_ms=1000.0))
    assert trainer.wait_s == trainer.longest_wait_s == pytest.approx(ANSWER_S)
    # Two whole steps and a half.
    assert trainer.ended_s == pytest.approx(ANSWER_S + 2.5)


def test_it_says_how_long_a_step_took_without_the_time_it_waited() -> None:
    spec = JobSpec("job", rows=600, batch=100, step_ms=100.0, first_step_ms=700.0)
    _, said = trained(spec)
    steps = [event.step_s for event in said if isinstance(event, Want)]
    assert max(steps) == pytest.approx(0.7)
    assert steps[-1] == pytest.approx(0.1)
