"""Prometheus itself reads the metrics, set up as docs/watching.md says, and answers the board."""

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from tests.dashboard.conftest import Served
from tests.processes.jobs import wait_until

DOCS = Path(__file__).parents[2] / "docs"
BOARD = json.loads((DOCS / "grafana.json").read_text())
PROMETHEUS = shutil.which("prometheus")


class Prometheus:
    """One that scrapes a dashboard every second."""

    def __init__(self, served: Served, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        config = re.search(r"```yaml\n(.*?)```", (DOCS / "watching.md").read_text(), re.DOTALL)
        assert config
        text = re.sub(
            r"(credentials_file: )\S+", rf"\1{served.node.run}/dashboard.token", config[1]
        )
        text = re.sub(r'"127\.0\.0\.1:\d+"', f'"127.0.0.1:{served.address["port"]}"', text)
        (folder / "prometheus.yml").write_text(
            "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n" + text
        )
        self._url = f"http://127.0.0.1:{port}/api/v1/query?query="
        with (folder / "prometheus.log").open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(str(PROMETHEUS), f"--config.file={folder}/prometheus.yml"),
                    *(
                        f"--storage.tsdb.path={folder}/data",
                        f"--web.listen-address=127.0.0.1:{port}",
                    ),
                ],
                stdout=log,
                stderr=log,
            )

    def ask(self, query: str) -> list[Any]:
        try:
            with urlopen(self._url + quote(query), timeout=10) as answer:
                told = json.load(answer)
        except URLError:
            return []  # it does not listen yet
        return list(told["data"]["result"])


@pytest.fixture
def prometheus(busy: Served, tmp_path: Path) -> Iterator[Prometheus]:
    started = Prometheus(busy, tmp_path)
    yield started
    started.process.terminate()
    started.process.wait(20)


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="no prometheus: apt install prometheus")
def test_prometheus_reads_the_metrics_and_every_query_of_the_board_gives_values(
    prometheus: Prometheus,
) -> None:
    wait_until(lambda: [one["value"][1] for one in prometheus.ask("joader_up")] == ["1"])
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            # A rate needs two looks at it.
            wait_until(lambda asked=target["expr"]: prometheus.ask(asked))
            labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            for one in prometheus.ask(target["expr"]):
                assert labels <= set(one["metric"])
                assert float(one["value"][1]) >= 0
    by_job = prometheus.ask("rate(joader_job_samples_delivered_total[1m])")
    assert {one["metric"]["name"] for one in by_job} == {"alpha", "beta", "gamma", "delta"}
