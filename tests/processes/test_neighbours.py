"""One job's broken dataset takes its own workers down, and nobody else's time."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from joader.errors import RowFailed
from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.processes.odd_data import Odd
from tests.processes.test_bad_input import loader, rows_of


@pytest.fixture
def own_node(node: Node, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("JOADER_RUNTIME", str(node.run))
    node.up()
    return node


class Beside:
    """A job in a thread, that ends with an error or its rows."""

    def __init__(self, data: Odd, **options: Any) -> None:
        self.rows: list[int] = []
        self.error: Exception | None = None
        self.loader = loader(data, **options)
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        try:
            for _, rows in self.loader:
                self.rows += rows.tolist()
        except Exception as error:
            self.error = error

    def close(self) -> None:
        self.loader.close()
        self.thread.join(30)
        assert not self.thread.is_alive()


def test_code_that_kills_workers_again_and_again_kills_its_own(
    own_node: Node, tmp_path: Path
) -> None:
    assert own_node.daemon is not None
    held = Path(f"/proc/{own_node.daemon.pid}/fd")
    assert rows_of(Odd(1, {})) == [0]
    wait_until(lambda: not own_node.workers())
    before = len(list(held.iterdir()))
    odd = Odd(40, dict.fromkeys(range(0, 40, 7), "exits_at_once"))
    bad = Beside(odd, on_error="skip")
    assert sorted(rows_of(Odd(250, {-1: "signs"}, str(tmp_path)))) == list(range(250))
    bad.thread.join(60)
    bad.close()
    assert bad.error is None
    assert sorted(bad.rows) == [row for row in range(40) if row % 7]
    assert len(list(tmp_path.glob("signed-*"))) <= 2  # none of the other's was replaced
    wait_until(lambda: not own_node.workers())
    wait_until(lambda: len(list(held.iterdir())) <= before)


def test_an_only_worker_is_replaced_and_every_bad_row_is_named(own_node: Node) -> None:
    odd = Odd(30, {3: "sleeps", 11: "reads_address_zero", 20: "raises_chained"})
    options = {"shuffle": True, "timeout": 3, "on_error": "skip", "num_workers": 1}
    with loader(odd, **options) as batches:
        rows = sorted(row for _, some in batches for row in some.tolist())
        assert rows == [row for row in range(30) if row not in odd.odd]
        assert batches.stats().skipped == 3
    assert sorted(rows_of(Odd(60, {}))) == list(range(60))


@pytest.mark.slow
def test_rows_that_hang_hold_nobody_else_up_for_their_whole_timeout(own_node: Node) -> None:
    bad = Beside(Odd(40, {-1: "sleeps"}), timeout=40)
    wait_until(own_node.workers)
    time.sleep(1)  # it hangs now, with more in hand
    begun = time.monotonic()
    for _ in range(3):
        assert sorted(rows_of(Odd(200, {}), timeout=60)) == list(range(200))
    assert time.monotonic() - begun < 25
    assert bad.thread.is_alive()
    bad.thread.join(60)
    assert isinstance(bad.error, RowFailed | TimeoutError)
    bad.close()
    wait_until(lambda: not own_node.workers())
