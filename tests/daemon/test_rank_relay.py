"""What ranks of one job on several nodes must have in common."""

from typing import Any

import numpy as np

from joader.daemon.rank_relay import Relay
from joader.messages import JobSettings, Join, Register


def data(**said: Any) -> bytes:
    """Return what the relay of a rank tells of its job that is set so."""
    join = Join(0, "photos", np.arange(8), 8, 2, team="team", world_size=2)
    nobody: Any = None
    return Relay(nobody, Register(join, JobSettings("job", **said)), nobody, nobody).data


def test_ranks_that_read_what_their_node_has_are_not_of_a_job_that_splits_uniformly() -> None:
    assert data(locality=True) != data(locality=False)


def test_settings_that_do_not_change_what_is_read_may_differ() -> None:
    assert data(weight=2.0, lend=False, timeout_s=9.0) == data()
