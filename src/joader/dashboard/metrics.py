"""A node's figures as Prometheus reads them.

Names and units follow its convention: `_total` counts up, base units are seconds and bytes. Labels
are few and bounded: at most MOST_JOBS names of jobs that are here now; the rest is "other". Jobs of
one name, such as ranks, are added up. The label is `name`: Prometheus calls what it scrapes `job`.
"""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from joader.statistics import ClusterStatistics, JobStatistics, NodeStatistics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_JOBS = 50


def exposition(node: NodeStatistics) -> bytes:
    """Return the text that a scrape gets; without a daemon, that it is down."""
    registry = CollectorRegistry()
    registry.register(_Figures(node))
    return generate_latest(registry)


class _Figures(Collector):
    def __init__(self, node: NodeStatistics) -> None:
        self._node = node

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        node = self._node
        yield GaugeMetricFamily("joader_up", "Whether a daemon answers.", node.pid is not None)
        if node.pid is None:
            return
        yield InfoMetricFamily("joader", "The daemon.", {"version": node.version})
        yield from _totals(node)
        yield from _workers(node)
        yield from _memory(node)
        if node.cluster is not None:
            yield from _cluster(node.cluster)
        yield from _jobs(node.jobs)


def _totals(node: NodeStatistics) -> Iterator[Metric]:
    totals = node.totals
    counts = (
        ("delivered", totals.delivered, "Samples that jobs got."),
        ("prepared", totals.prepared, "Samples that were prepared."),
        ("hit", totals.hits, "Samples that were there already when a job wanted them."),
        ("shared", totals.shared, "Hits on what was prepared for another job."),
        ("wasted", totals.wasted, "Samples that were prepared and never used."),
    )
    for name, value, words in counts:
        yield CounterMetricFamily(f"joader_samples_{name}", words, value)
    words = "Time that workers would have needed for the hits."
    yield CounterMetricFamily("joader_work_saved_seconds", words, totals.saved_s)
    words = "Processor time that workers would have needed for the hits."
    yield CounterMetricFamily("joader_cpu_saved_seconds", words, totals.saved_cpu_s)
    yield GaugeMetricFamily("joader_uptime_seconds", "Since the daemon started.", node.uptime_s)
    flow = GaugeMetricFamily("joader_samples", "Samples on their way to jobs.", labels=["state"])
    for state in ("to_come", "planned", "preparing", "ready", "held"):
        flow.add_metric([state], getattr(node.flow, state))
    yield flow


def _workers(node: NodeStatistics) -> Iterator[Metric]:
    yield GaugeMetricFamily("joader_workers", "Worker processes.", node.workers)
    yield GaugeMetricFamily("joader_cores", "Workers that may work at a time.", node.cores)
    words = "Processors that workers keep busy."
    yield GaugeMetricFamily("joader_workers_busy_cores", words, node.cpu_cores)
    yield GaugeMetricFamily("joader_rows_queued", "Rows that wait for a worker.", node.queued)


def _memory(node: NodeStatistics) -> Iterator[Metric]:
    memory = node.memory
    words = "Memory for prepared samples."
    yield GaugeMetricFamily("joader_memory_budget_bytes", words, memory.budget_bytes)
    parts = {
        "in_use": memory.pinned_bytes,
        "several_jobs": memory.needed_by_many_bytes,
        "one_job": memory.needed_by_one_bytes,
        "no_job": memory.needed_by_none_bytes,
    }
    words = "Memory that samples take, by who needs them."
    family = GaugeMetricFamily("joader_memory_bytes", words, labels=["needed_by"])
    for name, value in parts.items():
        family.add_metric([name], value)
    yield family


def _cluster(cluster: ClusterStatistics) -> Iterator[Metric]:
    words = "Nodes that share, with this one."
    yield GaugeMetricFamily("joader_cluster_nodes", words, len(cluster.nodes))
    counts = (
        ("rows_fetched", cluster.fetched, "Rows that came from other nodes."),
        ("rows_sent", cluster.sent, "Rows that went to other nodes."),
        ("fetched_bytes", cluster.fetched_bytes, "Bytes of rows that came from other nodes."),
        ("sent_bytes", cluster.sent_bytes, "Bytes of rows that went to other nodes."),
    )
    for name, value, words in counts:
        yield CounterMetricFamily(f"joader_cluster_{name}", words, value)


def _jobs(jobs: Iterable[JobStatistics]) -> Iterator[Metric]:
    by_name: dict[str, list[JobStatistics]] = {}
    for job in jobs:
        name = job.name if job.name in by_name or len(by_name) < MOST_JOBS else "other"
        by_name.setdefault(name, []).append(job)
    yield GaugeMetricFamily("joader_jobs", "Jobs that read now.", sum(map(len, by_name.values())))
    counts = (
        ("delivered", "Samples that the job got."),
        ("prepared", "Samples that were prepared for it."),
        ("shared", "Samples that it took from other jobs."),
    )
    for field, words in counts:
        family = CounterMetricFamily(f"joader_job_samples_{field}", words, labels=["name"])
        for name, same in by_name.items():
            family.add_metric([name], sum(getattr(job, field) for job in same))
        yield family
    waits = CounterMetricFamily("joader_job_wait_seconds", "That it has waited.", labels=["name"])
    share = GaugeMetricFamily("joader_job_work_ratio", "Its part of all work.", labels=["name"])
    epoch = GaugeMetricFamily("joader_job_epoch", "The pass that it reads.", labels=["name"])
    for name, same in by_name.items():
        waits.add_metric([name], sum(job.wait_s for job in same))
        share.add_metric([name], sum(job.worker_share for job in same))
        epoch.add_metric([name], max(job.epoch for job in same))
    yield from (waits, share, epoch)
