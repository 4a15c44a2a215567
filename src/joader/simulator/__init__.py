"""Jobs on a virtual clock, through the engine that runs in production: what would be shared?

Reading order: `job`, `timeline`, `choices`, `simulate`. Machines on which things take time, and the
schedule decides, too: `machine/`. Figures of the papers, and small simulators that serve them
alone, lie in `papers/`, beside `src`.
"""

from joader.simulator.job import Job
from joader.simulator.simulate import JobResult, Result, simulate

__all__ = ["Job", "JobResult", "Result", "simulate"]
