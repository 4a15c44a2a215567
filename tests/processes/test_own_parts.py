"""A job's own part runs in the workers, on the shared sample, for that job alone."""

import json
import re

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import Job

READ = """
import random
options = json.loads(sys.argv[1])
data = Squares(**options.pop("data"))
add = options.pop("add", 0)
go = options.pop("go", None)
epochs = options.pop("epochs", 1)
what = options.pop("what", "")
def own(sample):
    array, row = sample
    array += add  # in place: it must reach nobody else
    if what == "raise" and row == 7:
        raise ValueError(f"row {row} is too much")
    if what == "die" and row == 7:
        os.kill(os.getpid(), 9)
    if what == "hang":
        time.sleep(60)
    if what == "grow":
        array = np.tile(array, (1 + row % 3, 1))
    return array, row, random.random(), np.random.random()
loader = joader.DataLoader(data, shuffle=True, transform=own, key="k", **options)
say("ready")
while go and not os.path.exists(go):
    time.sleep(0.01)
for epoch in range(epochs):
    rows, numbers = [], []
    for batch in loader:
        arrays, ids, *drawn = zip(*batch) if isinstance(batch[0], tuple) else batch
        for array, row in zip(arrays, ids):
            assert (array == (int(row) % 251 + add) % 256).all(), row
        rows += [int(row) for row in ids]
        numbers += [list(map(float, pair)) for pair in zip(*drawn)]
    say([rows, numbers])
stats = loader.stats()
say([stats.delivered, stats.prepared, stats.hits, stats.shared])
loader.close()
"""


def read(node: Node, **options: object) -> Job:
    return node.job(READ, json.dumps(options))


def test_jobs_with_parts_of_their_own_share_the_rest(node: Node) -> None:
    node.up(workers=2)
    log, go = node.folder / "prepared.log", node.folder / "go"
    data = {"length": 400, "log": str(log)}
    jobs = [
        read(node, data=data, add=add, batch_size=8, go=str(go), deterministic=True)
        for add in (0, 3, 100)
    ]
    for job in jobs:
        assert job.line() == "ready"
    go.touch()
    results = [job.result() for job in jobs]
    for (rows, _), stats in results:
        assert sorted(rows) == list(range(400))
        assert stats[0] == stats[1] + stats[2] == 400
    prepared = log.read_text().split()
    assert set(map(int, prepared)) == set(range(400))
    assert sum(stats[1] for _, stats in results) == len(prepared)
    # Three jobs in step prepare a row once, but for those that the first read before all had come.
    assert len(prepared) < 600


def test_own_parts_draw_new_numbers_for_every_position_and_pass(node: Node) -> None:
    node.up()
    _, first, second, _ = read(
        node, data={"length": 200}, batch_size=8, epochs=2, deterministic=True
    ).result()
    drawn = [tuple(pair) for pair in first[1] + second[1]]
    assert len(set(drawn)) == 400
    assert len({number for pair in drawn for number in pair}) == 800


def test_a_seed_gives_the_same_numbers_whoever_else_runs(node: Node) -> None:
    node.up()
    options = {"data": {"length": 100}, "batch_size": 8, "order": "seeded", "seed": 5}
    alone = read(node, **options).result()
    other = read(node, data={"length": 100}, batch_size=3, epochs=3)
    beside = read(node, **options).result()
    other.result()
    assert alone[1] == beside[1]


def test_a_part_that_changes_the_size_of_samples_fits(node: Node) -> None:
    node.up("96KiB")
    rows = read(node, data={"length": 120}, batch_size=6, what="grow").result()[1][0]
    assert sorted(rows) == list(range(120))


def test_an_own_part_that_raises_names_the_row_and_nobody_else_notices(node: Node) -> None:
    node.up()
    other = read(node, data={"length": 300}, batch_size=4, add=1)
    error = read(node, data={"length": 300}, batch_size=4, what="raise").error()
    assert "row 7 (position 7) could not be prepared" in error
    assert "ValueError: row 7 is too much" in error
    assert sorted(other.result()[1][0]) == list(range(300))


def test_an_own_part_that_kills_its_worker_costs_its_job_alone(node: Node) -> None:
    node.up()
    other = read(node, data={"length": 300}, batch_size=4, add=1)
    error = read(node, data={"length": 300}, batch_size=4, what="die").error()
    assert "died (signal 9), 2 times" in error
    assert sorted(other.result()[1][0]) == list(range(300))


def test_an_own_part_that_hangs_is_named(node: Node) -> None:
    node.up()
    error = read(node, data={"length": 20}, batch_size=1, what="hang", timeout=4).error()
    # The row is given up, or the batch before: it, or what it waits behind, is in an own part.
    given_up = r"RowFailed: row \d+ .*\ntransform: own took more than 4 s"
    late = r"Overdue: .* row \d+ \(.*\) (has been with|waits) .*(own part|transform: own)"
    assert re.search(f"{given_up}|{late}", error), error


def test_rows_that_outgrow_their_slots_are_spread_over_all_workers(node: Node) -> None:
    # A worker with own parts in hand has more than its share, and must not be given all the rest.
    node.up("64MiB", 4)
    script = """
import collections
import torch  # resizes, and is imported by each worker otherwise
class Growing(Squares):
    def __getitem__(self, row):
        time.sleep(0.01)
        return np.full((20 + row * 7 % 50, 30 + row * 13 % 40, 3), 7, np.uint8), os.getpid()
from joader.images import RandomResizedCrop
loader = joader.DataLoader(
    Growing(600), batch_size=100, shuffle=True, as_numpy=True, deterministic=True,
    transform=[RandomResizedCrop(16)],
)
workers = collections.Counter(pid for _, pids in loader for pid in pids.tolist())
assert os.getpid() not in workers
say(sorted(workers.values()))
loader.close()
"""
    (counts,) = node.job(script).result()
    assert sum(counts) == 600
    assert len(counts) == 4, node.log()
    assert counts[0] > 60


CROPS = """
from hashlib import sha256
from joader.images import RandomHorizontalFlip, RandomResizedCrop
log, fresh = sys.argv[1], sys.argv[2] == "fresh"
class Photos:
    def __len__(self):
        return 300
    def __getitem__(self, row):
        with open(log, "a") as file:
            file.write(f"{row}\\n")
        image = np.random.default_rng(row).integers(0, 256, (40 + row % 17, 50, 3), np.uint8)
        return image, row, random.random() if fresh else 0.0
def brighter(sample):
    image, row, drawn = sample
    image += 1  # in place: it must reach nobody else
    return image, row, drawn, random.random()
import random
loader = joader.DataLoader(
    Photos(), shuffle=True, transform=[RandomResizedCrop(32), RandomHorizontalFlip(), brighter],
    key="photos", order="seeded", seed=5, batch_size=8, deterministic=not fresh,
)
say([
    [int(row), sha256(np.ascontiguousarray(image).tobytes()).hexdigest(), float(d), float(o)]
    for _ in range(2) for images, rows, drawn, own in loader
    for image, row, d, o in zip(images, rows, drawn, own)
])
loader.close()
"""


@pytest.mark.parametrize("kind", ["fresh", "deterministic"])
def test_small_memory_changes_what_is_kept_and_nothing_else(node: Node, kind: str) -> None:
    """Rows go whole once memory is full; what a job gets of them is what it got before."""
    got, read = [], []
    for memory in ("64MiB", "512KiB"):
        node.up(memory)
        log = node.folder / memory
        got += node.job(CROPS, str(log), kind).result()
        read.append(len(log.read_text().split()))
        node.down()
    assert len(got[0]) == 600
    assert got[0] == got[1]
    assert (read[0], read[1] > 450) == (600 if kind == "fresh" else 300, True)
