"""What `cluster.start` does to a script's own connection to Ray; a stand-in plays Ray."""

import logging
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from joader import cluster
from joader.errors import NoDaemon, Overdue


class Late(Exception):
    """Ray's GetTimeoutError."""


class Broken(Exception):
    """Ray's RayError."""


class StandIn:
    """Ray, as far as `start` and `stop` see it."""

    exceptions = SimpleNamespace(GetTimeoutError=Late, RayError=Broken)

    def __init__(self, *, connected: bool = False, slow: bool = False, error: Any = None) -> None:
        self.connected, self.slow, self.error = connected, slow, error
        self.said: list[str] = []

    def is_initialized(self) -> bool:
        return self.connected

    def init(self, **_: Any) -> None:
        self.connected = True
        self.said.append("init")

    def shutdown(self) -> None:
        self.connected = False
        self.said.append("shutdown")

    def remote(self, _: Any) -> Any:
        all_up = SimpleNamespace(remote=lambda: "up")
        leader = SimpleNamespace(all_up=all_up)
        made = SimpleNamespace(remote=lambda *_: leader)
        return SimpleNamespace(options=lambda **_: made)

    def get_actor(self, *_: Any, **__: Any) -> Any:
        assert self.connected
        raise ValueError("no such actor")

    def wait(self, references: Sequence[str], timeout: float) -> tuple[list[str], list[str]]:
        return ([], list(references)) if self.slow else (list(references), [])

    def get(self, _: str, timeout: float) -> list[str]:
        assert self.connected
        assert timeout >= 600
        if self.error:
            raise self.error
        return ["a", "b"]


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> Any:
    def play(stand_in: StandIn) -> StandIn:
        monkeypatch.setitem(sys.modules, "ray", stand_in)  # type: ignore[arg-type]
        monkeypatch.setattr("joader.cluster.ray._check_answers", lambda *_: None)
        return stand_in

    return play


def test_a_script_that_has_not_connected_is_left_so(plays: Any) -> None:
    ray = plays(StandIn())
    assert cluster.start() == ["a", "b"]
    assert ray.said == ["init", "shutdown"]
    cluster.stop()
    assert ray.said == ["init", "shutdown"] * 2


def test_a_connection_of_the_script_is_used_and_kept(plays: Any) -> None:
    ray = plays(StandIn(connected=True))
    assert cluster.start() == ["a", "b"]
    cluster.stop()
    assert ray.said == []


def test_actors_that_are_slow_to_start_are_waited_for_and_that_is_said(
    plays: Any, caplog: pytest.LogCaptureFixture
) -> None:
    plays(StandIn(slow=True))
    with caplog.at_level(logging.WARNING):
        assert cluster.start() == ["a", "b"]
    assert "still starting joader's actors on its nodes, after 60 s; waiting up" in caplog.text


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [(Late(), Overdue, "within 10 min"), (Broken("no"), NoDaemon, "installed on all of them")],
)
def test_what_fails_leaves_no_connection(plays: Any, error: Any, kind: Any, said: str) -> None:
    ray = plays(StandIn(error=error))
    with pytest.raises(kind, match=said):
        cluster.start()
    assert ray.said == ["init", "shutdown"]
