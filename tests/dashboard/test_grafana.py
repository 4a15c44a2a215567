"""The Grafana dashboard asks for metrics and labels that there are; no panels overlap."""

import json
import re
from itertools import combinations
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from joader.dashboard.metrics import exposition
from tests.cli.top.node import NODE

BOARD = json.loads((Path(__file__).parents[2] / "docs" / "grafana.json").read_text())


def test_every_query_is_for_a_metric_and_labels_that_are_served() -> None:
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(exposition(NODE).decode()):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    targets = [target for panel in BOARD["panels"] for target in panel["targets"]]
    assert targets
    for target in targets:
        names = re.findall(r"joader_\w+", target["expr"])
        assert names
        assert set(names) <= set(labels), target
        for name in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            assert name in labels[names[0]], target
        if "_total" in target["expr"] and "/" not in target["expr"]:
            assert "rate(" in target["expr"] or "saved" in target["expr"]


def test_panels_have_their_own_numbers_and_places() -> None:
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one, other in combinations((panel["gridPos"] for panel in panels), 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart
        assert one["x"] + one["w"] <= 24
