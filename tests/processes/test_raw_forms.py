"""Raw forms of rows, with real workers: the right bytes, fewer reads, and nothing is left."""

import json
import os
import signal
from contextlib import suppress

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import Job

ROWS = 150
PASSES = 5

# A row is 16 to 24 KB, begins with its number, and is prepared to 40 KB.
READ = """
from hashlib import shake_128
from joader.storage import Storage, open_storage

ROWS, KIND, PREPARE, PASSES, NAME, WAITS = json.loads(sys.argv[1])

def stored(row):
    number = row.to_bytes(4, "big")
    return number + shake_128(number).digest(16_000 + 8 * (row * 37 % 1000))

def note(rows):
    with open("reads", "a") as log:
        log.write("".join(f"{NAME} {row}\\n" for row in rows))
    time.sleep(0.004 * len(rows))

class Dear(Storage):
    columns = {"body": "bytes"}
    length = ROWS

    def __init__(self):
        self.choose(None, ["body"])

    def fetch(self, rows, columns):
        note(rows.tolist())
        return [[stored(row) for row in rows.tolist()]]

    def identity(self):
        return "dear", ROWS

def files():
    os.makedirs("files", exist_ok=True)
    for row in range(ROWS):
        with open(f"files/{row:04}", "wb") as file:
            file.write(stored(row))
    made = open_storage(["files/%04d" % row for row in range(ROWS)], columns=["image"])

    class Slow(type(made)):
        def fetch(self, rows, columns):
            note(rows.tolist())
            return super().fetch(rows, columns)

    made.__class__ = Slow
    return made

def widened(body):
    array = np.frombuffer(body, np.uint8)
    return np.resize(array, 40_000)

def inverted(body):
    # What a step does to what it gets must not reach the raw form.
    return 255 - np.resize(np.frombuffer(body, np.uint8), 20_000)

def expected(row):
    if not PREPARE:
        return stored(row)
    return {"widened": widened, "inverted": inverted}[PREPARE](stored(row))

def number(sample):
    head = bytes(sample[:4]) if PREPARE != "inverted" else bytes(255 - sample[:4])
    return int.from_bytes(head, "big")

if "random" not in NAME:
    widened.random = inverted.random = False

storage = files() if KIND == "files" else Dear()
steps = {"prepare": [globals()[PREPARE]]} if PREPARE else {}
loader = joader.DataLoader(
    storage, batch_size=5, shuffle=True, num_workers=2, collate_fn=list, job=NAME, **steps
)
for epoch in range(PASSES):
    seen = []
    for batch in loader:
        for sample in batch:
            row = number(sample)
            assert np.array_equal(sample, expected(row)), (epoch, row)
            seen.append(row)
    assert sorted(seen) == list(range(ROWS)), epoch
    say(epoch)
if WAITS:
    sys.stdin.readline()
"""


def start(
    node: Node, kind: str, prepare: str, passes: int, name: str = "job", waits: bool = False
) -> Job:
    return node.job(READ, json.dumps([ROWS, kind, prepare, passes, name, waits]))


def reads(node: Node, name: str = "job") -> int:
    path = node.folder / "reads"
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(line.startswith(f"{name} ") for line in lines)


@pytest.mark.parametrize("kind", [pytest.param("storage", marks=pytest.mark.slow), "files"])
def test_rows_are_prepared_from_memory_where_reading_is_dear(node: Node, kind: str) -> None:
    """All raw forms take 3 MB of 4, all prepared samples 6."""
    node.up("4MiB", 2)
    job = start(node, kind, "widened", PASSES, waits=True)
    assert [job.line() for _ in range(PASSES)] == list(range(PASSES))
    status = node.status()
    raw = status["raw"]
    assert raw["used"] > 0.5 * ROWS
    assert 0 < raw["bytes"] <= status["memory"]["used_bytes"] <= 4 << 20
    assert reads(node) + raw["used"] == status["jobs"][0]["prepared"]


@pytest.mark.slow
def test_two_ways_to_prepare_read_rows_for_each_other(node: Node) -> None:
    node.up("12MiB", 2)
    jobs = [start(node, "files", way, PASSES, way, waits=True) for way in ("widened", "inverted")]
    for job in jobs:
        assert [job.line() for _ in range(PASSES)] == list(range(PASSES))
    assert node.status()["raw"]["used"] > 0.2 * ROWS


@pytest.mark.slow
def test_a_worker_that_dies_with_raw_forms_in_hand_costs_nobody_anything(node: Node) -> None:
    node.up("4MiB", 2)
    job = start(node, "storage", "widened", 15, waits=True)
    assert [job.line() for _ in range(3)] == list(range(3))
    # One of them: a row that a second worker dies with has failed.
    with suppress(ProcessLookupError):
        os.kill(node.workers()[0], signal.SIGKILL)
    assert [job.line() for _ in range(12)] == list(range(3, 15))
    assert node.status()["raw"]["used"] > 0


@pytest.mark.slow
def test_rows_whose_steps_are_random_are_read_once(node: Node) -> None:
    node.up("8MiB", 2)
    job = start(node, "storage", "widened", PASSES, "random", waits=True)
    assert [job.line() for _ in range(PASSES)] == list(range(PASSES))
    assert reads(node, "random") < ROWS * (1 + 0.25 * (PASSES - 1))
