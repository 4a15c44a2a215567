"""Jobs on the server of the JOADER paper take their GPU's time or that of its cores."""

import pytest

from papers.figures.titan_server import (
    Server,
    Trainer,
    fitted,
    lifetimes,
    mean_use,
    stretches,
)


def test_a_job_takes_its_gpus_time_unless_cores_run_short() -> None:
    server = Server(gpu_min=30, shared_min=8, own_min=2, bend=3)
    jobs = [Trainer(30, 0.01), Trainer(30, 0.01, start_min=15)]
    found = list(stretches(server, jobs))
    assert lifetimes(jobs, found) == pytest.approx([30, 30], rel=1e-3)
    assert [part.running for part in found] == [(0,), (0, 1), (1,)]
    crowd = [Trainer(30, 30)] * 10
    busy = list(stretches(server, crowd))
    assert lifetimes(crowd, busy)[0] == pytest.approx(300, rel=0.01)
    assert mean_use(busy) == pytest.approx(1, abs=0.01)
    assert fitted() is fitted()
