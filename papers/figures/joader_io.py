"""Appendix A.1 of the JOADER paper: what is read from disk; and section 6's remark on 350 MB/s.

The appendix prints that PyTorch reads more the more jobs there are, JOADER and CoorDL less. Section
6 says that disks above 350 MB/s are never the bottleneck. That is the rate at which all cores could
do nothing but prepare.
"""

from collections.abc import Iterator

from papers.figure import Effort, Figure, Row
from papers.figures.joader_counts import in_step, scale
from papers.figures.joader_table1 import epoch_min
from papers.figures.titan_server import JOBS, ROW_BYTES, ROWS, describe, fitted
from papers.runs import Tick

REMARK = 350.0
AT_MOST = "most that cores can take"


def mb_per_s(parts: tuple[float, ...]) -> float:
    """Return what equal jobs that prepare these parts read."""
    return sum(parts) * ROWS * ROW_BYTES / 1e6 / (60 * epoch_min(parts))


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return MB/s."""
    for jobs in JOBS:
        yield Row(
            case="1 to 6 jobs",
            x=jobs,
            paper=None,
            ours=mb_per_s(in_step("dependent", jobs, effort, seed)),
            baseline=mb_per_s((1.0,) * jobs),
            unit="MB/s",
        )
        tick()
    most = ROWS * ROW_BYTES / 1e6 / (60 * fitted().shared_min)
    yield Row(AT_MOST, JOBS[-1], REMARK, most, None, "MB/s")


FIGURE = Figure(
    name="joader-io",
    source="JOADER, appendix A.1 and section 6",
    title="What equal jobs read from disk",
    scale=scale,
    case_label="what",
    x_label="jobs",
    y_label="MB/s",
    paper_label="paper: 350 MB/s",
    ours="joader",
    baseline="PyTorch",
    varies="sets",
    rows=rows,
    steps=lambda effort: len(JOBS),
    notes=describe,
)
