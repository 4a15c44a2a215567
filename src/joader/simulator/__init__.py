"""Jobs on a virtual clock, through the engine that runs in production: what would be shared?

Reading order: `job`, `timeline`, `choices`, `simulate`, `runs`, `figures`, `appendix`, `insertion`;
samplers alone, without the engine: `opportunistic`, `sharing`, `streams_figure`; one job on many
nodes: `many_nodes`; its ranks on one node: `rank_queues`; raw beside prepared samples: `two_forms`;
workers among jobs: `shares_over_time`. Machines on which things take time, and the schedule
decides, too: `machine/`. Figures of the papers: `papers/`, `every_figure`.
"""

from joader.simulator.job import Job
from joader.simulator.simulate import JobResult, Result, simulate

__all__ = ["Job", "JobResult", "Result", "simulate"]
