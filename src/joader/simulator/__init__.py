"""Jobs on a virtual clock, through the code that runs in production: what would be shared?"""

from joader.simulator.job import Job
from joader.simulator.simulate import JobResult, Result, replay, simulate, trace

__all__ = ["Job", "JobResult", "Result", "replay", "simulate", "trace"]
