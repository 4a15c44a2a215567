"""The machine of the locality paper, and its rates: what it prints, and what follows from that.

It prints no seconds. Printed are the most that one learner loads (Figure 7), sizes, and ratios. One
rate is free: storage. It is fitted to the *regular* loader: several threads make preparing faster,
so how much they gain says which part of the regular loader's time is preparing. Everything else is
then predicted.
"""

from dataclasses import dataclass

from papers.simulators.many_nodes import Cluster, Rates

NODES = (2, 4, 8, 16, 32, 64, 128, 256)
LEARNERS = 4  # per node
BATCH = LEARNERS * 128
LINK_BYTES_PER_S = 12.5e9  # InfiniBand EDR
LEARNER_ROWS_PER_S = 800.0  # Figure 7: "around 800 samples per second"
# "locality-aware ... multithreaded runs are 105%-113% faster": it is all preparing there.
THREADS_GAIN = 2.09
# "regular ... multithreaded runs are 24%-71% faster": most where preparing weighs most.
REGULAR_GAIN = 1.71


@dataclass(frozen=True)
class Dataset:
    """A dataset of the paper."""

    name: str
    rows: int
    row_bytes: float

    @property
    def link(self) -> float:
        """Rows per second over the link of a node."""
        return LINK_BYTES_PER_S / self.row_bytes


IMAGENET = Dataset("ImageNet-1K", 1_281_167, 150e9 / 1_281_167)
UCF_RGB = Dataset("UCF101-RGB", 2_500_000, 24.2e3)
UCF_FLOW = Dataset("UCF101-FLOW", 5_000_000, 4.6e3)
MUMMI = Dataset("MuMMI", 7_000_000, 131e3)


def cluster(nodes: int) -> Cluster:
    """Return so many nodes with room for all rows."""
    return Cluster(nodes, BATCH)


def imagenet_rates() -> Rates:
    """Return the rates of ImageNet with threads, storage fitted to the regular loader's gain.

    With x = U/R: (x + 1/p) / (x + 1/(g·p)) is what threads gain on p = 2 nodes, g on preparing.
    """
    single = LEARNERS * LEARNER_ROWS_PER_S / THREADS_GAIN
    least = NODES[0]
    x = (1 - REGULAR_GAIN / THREADS_GAIN) / (least * (REGULAR_GAIN - 1))
    return Rates(single / x, single * THREADS_GAIN, IMAGENET.link)


def rates_from_speedup(dataset: Dataset, nodes: int, times: float, preparing: float) -> Rates:
    """Return rates under which the local loader is so many times as fast on so many nodes.

    The paper gives no baseline for this dataset: only the ratio U/R can be fitted, to its smallest
    scale, by equation 4 over equation 8 with all rows cached and next to nothing to balance.
    """
    return Rates(nodes * preparing / (times - 1), preparing, dataset.link)


def describe(rates: Rates) -> str:
    """Write the rates for people."""
    return (
        f"rows/s: storage {rates.storage:,.0f} (all nodes), preparing {rates.preparing:,.0f}, "
        f"link {rates.link:,.0f} (per node)"
    )
