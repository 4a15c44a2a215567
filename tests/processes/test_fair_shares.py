"""A job whose rows are quick beside one that takes long for each: neither waits for the other.

Rows sleep, so that processors are not what they compete for.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import wait_until

READ = """
options = json.loads(sys.argv[1])
row_s, step_s = options.pop("row_s"), options.pop("step_s")
train_s, batches = options.pop("train_s"), options.pop("batches")

def step(sample):
    time.sleep(step_s)
    return sample

loader = joader.DataLoader(
    Squares(20_000, slow_s=row_s), shuffle=True, transform=step if step_s else None, **options
)
read = iter(loader)
check(next(read))
say("reading")
waits = []
for _ in range(batches):
    asked = time.monotonic()
    check(next(read))
    waits.append(time.monotonic() - asked)
    time.sleep(train_s)
say(sorted(waits)[batches // 2])
"""
LIGHT = {"row_s": 0.0002, "step_s": 0.0, "train_s": 0.02, "batches": 60, "batch_size": 16}
HEAVY = {"train_s": 0.0, "batches": 10_000, "batch_size": 64}


@pytest.mark.parametrize(
    "heavy",
    [
        {"row_s": 0.02, "step_s": 0.0, "key": "other rows"},
        {"row_s": 0.0002, "step_s": 0.02, "key": "rows"},
    ],
    ids=["other rows", "the same rows and a heavy transform"],
)
def test_quick_rows_are_not_slowed_by_slow_ones(node: Node, heavy: dict[str, object]) -> None:
    node.up(workers=2)
    light = json.dumps({**LIGHT, "key": "rows"})
    _, alone = node.job(READ, light).result()
    slow = node.job(READ, json.dumps({**HEAVY, **heavy}))
    assert slow.line() == "reading"
    _, beside = node.job(READ, light).result()
    assert slow.process.poll() is None
    # Usually 0.0005 s both; 0.1 s beside a heavy transform when there was one queue for all.
    assert beside < max(0.06, 4 * alone)


LONE = """
loader = joader.DataLoader(Squares(1, slow_s=0.001), num_workers=1)
took = []
for _ in range(30):
    begun = time.monotonic()
    assert [row for batch in loader for row in check(batch)] == [0]
    took.append(time.monotonic() - begun)
say(sorted(took)[15])
"""


def test_a_lone_row_waits_for_no_other(node: Node) -> None:
    """Whole passes over one row: asked for, handed out, prepared, reported, delivered."""
    node.up()
    (median_s,) = node.job(LONE).result()
    assert median_s < 0.5  # usually 0.02, on a machine that does nothing else


@pytest.fixture
def hogs() -> Iterator[None]:
    """Keep all processors busy, many times over."""
    count = 12 * (os.cpu_count() or 1)
    code = "while True: pass"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    yield
    for hog in running:
        hog.send_signal(signal.SIGKILL)
        hog.wait()


COMPUTES = """
class Computes(Squares):
    def __getitem__(self, row):
        end = time.process_time() + 0.03
        while time.process_time() < end:
            pass
        return super().__getitem__(row)
loader = joader.DataLoader(Computes(60), batch_size=6, num_workers=2, transform=lambda one: one)
say(sorted(row for batch in loader for row in check(batch)))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("hogs")
def test_nobody_is_blamed_on_a_machine_that_is_merely_full(node: Node) -> None:
    node.up()
    (rows,) = node.job(COMPUTES).result()
    assert rows == list(range(60))
    wait_until(lambda: node.status()["jobs"] == [])
    assert "WARNING" not in node.log()


FIRST_IS_SLOW = """
class FirstIsSlow(Squares):
    def __getitem__(self, row):
        began = time.monotonic()
        time.sleep(1.5 if row == 0 else 0.01)
        with open("times", "a") as file:
            file.write(f"{row} {began} {time.monotonic()}\\n")
        return super().__getitem__(row)

loader = joader.DataLoader(FirstIsSlow(64), batch_size=16, num_workers=2, key="slow")
read = [row for batch in loader for row in check(batch)]
say(read == list(range(64)))
"""


def test_a_slow_first_row_does_not_hold_up_the_others(node: Node) -> None:
    node.up(workers=2)
    assert node.job(FIRST_IS_SLOW).result()[0] is True
    times = {
        int(row): (float(began), float(ended))
        for row, began, ended in map(str.split, (node.folder / "times").read_text().splitlines())
    }
    slow_until = times[0][1]
    meanwhile = [row for row, (began, _) in times.items() if began < slow_until]
    assert len(meanwhile) > 16  # by the other worker, though nobody could know their size
