"""What the JOADER figures say was prepared is what the engine prepared."""

import sys

import pytest

from joader.engine import Engine
from papers.figures.joader_counts import prepared_parts


def test_counts_come_from_the_engine_that_serves_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    handled = []

    class Watched(Engine):
        def handle(self, *events, **options):  # type: ignore[no-untyped-def]
            handled.extend(events)
            return super().handle(*events, **options)

    monkeypatch.setattr(sys.modules["joader.simulator.simulate"], "Engine", Watched)
    prepared_parts.cache_clear()
    parts = prepared_parts("dependent", (1.0, 1.0), (0.0, 0.0), 1.0, 200, 5)
    assert sum(parts) == pytest.approx(1.0)
    assert len(handled) > 50
