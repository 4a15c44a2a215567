"""`joader up --wait`: it returns when all are there, and says who is missing."""

import pytest

from joader.cli import up as ready
from joader.cli.up import wait_until_ready
from joader.errors import NoDaemon, Overdue
from joader.statistics import ClusterStatistics, NodeStatistics, PeerStatistics


class Daemons:
    """What watchers find, one look after the other: None, or so many nodes (0: no cluster)."""

    def __init__(self, *found: int | None) -> None:
        self.found = list(found)

    def __call__(self) -> "Daemons":
        self.now = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if self.now is None:
            raise NoDaemon("no daemon listens")
        return self

    def __enter__(self) -> "Daemons":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def status(self) -> NodeStatistics:
        if not self.now:
            return NodeStatistics()
        nodes = tuple(
            PeerStatistics(name=str(n), host="h", port=1, cores=1) for n in range(self.now)
        )
        return NodeStatistics(cluster=ClusterStatistics(nodes=nodes))


def waited(
    monkeypatch: pytest.MonkeyPatch, daemons: Daemons, seconds: float = 60.0, nodes: int = 0
) -> int:
    monkeypatch.setattr(ready, "Watcher", daemons)
    monkeypatch.setattr(ready, "_LOOK_S", 0.0)
    return wait_until_ready(seconds, nodes)


def test_it_waits_for_the_daemon_and_then_for_its_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemons = Daemons(None, None, 0, 1, 2, 3)
    assert waited(monkeypatch, daemons, nodes=2) == 0
    assert daemons.found == [3]
    assert "2 nodes in its cluster" in capsys.readouterr().out


def test_a_daemon_alone_is_enough_if_no_nodes_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert waited(monkeypatch, Daemons(0)) == 0
    assert "ready at" in capsys.readouterr().out


@pytest.mark.parametrize(("found", "missing"), [(None, "no daemon listens"), (1, "1 node of 2")])
def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, found: int | None, missing: str
) -> None:
    with pytest.raises(Overdue, match=missing):
        waited(monkeypatch, Daemons(found), seconds=0.01, nodes=2)
