"""Several real jobs on one daemon: each position once, each sample prepared once."""

import json
import os
from collections import Counter

import pytest

from tests.processes.conftest import Node, processes_with
from tests.processes.jobs import Job, wait_until
from tests.sampling.uniformity import ALPHA, rank_p_value

READ = """
options = json.loads(sys.argv[1])
go = options.pop("go", None)
rest = options.pop("rest_s", 0)
data = Squares(**options.pop("data"))
rows = options.pop("rows", None)
if rows:
    class Part:
        def __init__(self, base, first, last):
            self.base, self.first, self.last = base, first, last
        def __len__(self):
            return self.last - self.first
        def __getitem__(self, row):
            return self.base[self.first + row]
    data = Part(data, *rows)
epochs = options.pop("epochs", 1)
loader = joader.DataLoader(data, shuffle=True, **options)
say("ready")
while go and not os.path.exists(go):
    time.sleep(0.01)
for epoch in range(epochs):
    rows = []
    for batch in loader:
        rows += check(batch)
        time.sleep(rest)
    say(rows)
stats = loader.stats()
say([stats.delivered, stats.prepared, stats.hits, stats.shared])
loader.close()
"""


def read(node: Node, **options: object) -> Job:
    return node.job(READ, json.dumps(options))


def test_one_job_reads_every_row_once_an_epoch_in_a_new_order(node: Node) -> None:
    node.up()
    job = read(node, data={"length": 500}, batch_size=32, epochs=3, deterministic=True)
    _, *epochs, stats = job.result()
    for rows in epochs:
        assert sorted(rows) == list(range(500))
    assert len({tuple(rows) for rows in epochs}) == 3
    assert stats[0] == 1500 == stats[1] + stats[2]


def test_a_job_that_may_be_random_takes_what_is_kept_once_and_leaves_it(node: Node) -> None:
    node.up()
    data = {"data": {"length": 300}, "batch_size": 20}
    prepared = [
        read(node, **data, epochs=epochs, deterministic=deterministic).result()[-1][1]
        for deterministic, epochs in [(True, 1), (False, 1), (True, 1), (False, 2), (True, 1)]
    ]
    assert prepared == [300, 0, 0, 300, 0]


def test_four_scripts_at_once_get_one_daemon_and_each_row_is_prepared_once(node: Node) -> None:
    log, go = node.folder / "prepared.log", node.folder / "go"
    os.environ["JOADER_IDLE_S"] = "1"
    try:
        data = {"length": 600, "log": str(log)}
        jobs = [read(node, data=data, batch_size=32, go=str(go)) for _ in range(4)]
        for job in jobs:
            assert job.line() == "ready"
        go.touch()
        results = [job.result() for job in jobs]
    finally:
        del os.environ["JOADER_IDLE_S"]
    for rows, stats in results:
        assert sorted(rows) == list(range(600))
        assert stats[0] == stats[1] + stats[2] == 600
    prepared = Counter(int(line) for line in log.read_text().split())
    assert set(prepared) == set(range(600))
    # The dataset may have random code: what a job that came late has missed is prepared again.
    assert sum(prepared.values()) == sum(stats[1] for _, stats in results)
    assert sum(prepared.values()) < 4 * 600 / 2
    # The daemon that the first of them started ends by itself, and leaves nothing.
    wait_until(lambda: not node.socket.exists())
    wait_until(lambda: not processes_with(str(node.run)))


def test_jobs_of_any_speed_batch_size_and_arrival_read_every_row_once(node: Node) -> None:
    node.up()
    data = {"length": 400}
    first = read(node, data=data, batch_size=7, epochs=3, rest_s=0.001, key="k")
    second = read(node, data=data, batch_size=64, epochs=2, rest_s=0.05, key="k")
    assert first.line() == second.line() == "ready"
    late = read(node, data=data, batch_size=1, epochs=1, key="k")
    seeded = read(node, data=data, batch_size=10, epochs=2, order="seeded", seed=4, key="k")
    for job in (first, second, late, seeded):
        for rows in job.result():
            if isinstance(rows, list) and len(rows) == 400:
                assert sorted(rows) == list(range(400))
    assert node.status()["jobs"] == []


def test_a_seeded_order_is_the_same_whoever_else_runs(node: Node) -> None:
    node.up()
    options = {"data": {"length": 200}, "batch_size": 16, "order": "seeded", "epochs": 2}
    alone = read(node, seed=9, **options).result()[1:3]
    jobs = [read(node, seed=seed, **options) for seed in (9, 8)]
    same, other = [job.result()[1:3] for job in jobs]
    assert same == alone != other


def test_in_place_edits_reach_nobody_else(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(128), batch_size=16, shuffle=True, deterministic=True)
kept = []
for epoch in range(3):
    for arrays, rows in loader:
        check((arrays, rows))
        kept.append((arrays.copy(), arrays, rows))
        arrays += 1
for copy, arrays, rows in kept:
    assert (arrays == copy + 1).all()
say(len(kept))
loader.close()
"""
    assert [node.job(script).result()[0] for _ in range(2)] == [24, 24]


def test_iterators_side_by_side_and_broken_off_lose_nothing(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(100), batch_size=8, shuffle=True)
pairs = [(check(a), check(b)) for a, b in zip(loader, loader)]
say([sum((a for a, _ in pairs), []), sum((b for _, b in pairs), [])])
for batch in loader:
    break
say([row for batch in loader for row in check(batch)])
it = iter(loader)
next(it)
del it
say([row for batch in loader for row in check(batch)])
say(len(loader))
loader.close()
"""
    (left, right), after_break, after_del, length = node.job(script).result()
    for rows in (left, right, after_break, after_del):
        assert sorted(rows) == list(range(100))
    assert length == 13


def test_drop_last_leaves_out_the_tail_and_nothing_else(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(100), batch_size=8, shuffle=True, drop_last=True)
for epoch in range(2):
    say([check(batch) for batch in loader])
say(len(loader))
loader.close()
"""
    first, second, length = node.job(script).result()
    for batches in (first, second):
        assert [len(batch) for batch in batches] == [8] * 12
        assert len({row for batch in batches for row in batch}) == 96
    assert length == 12


def test_a_pass_goes_on_in_a_new_process_where_its_state_was_taken(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(300), batch_size=10, shuffle=True, key="same")
if len(sys.argv) > 1:
    loader.load_state_dict(json.loads(sys.argv[1]))
rows = []
for number, batch in enumerate(loader):
    rows += check(batch)
    if len(sys.argv) == 1 and number == 11:
        break
say(rows)
say(loader.state_dict())
"""
    before, state = node.job(script).result()
    after, rest = node.job(script, json.dumps(state)).result()
    assert len(before) == 120
    assert sorted(before + after) == list(range(300))
    assert rest["epoch"] == 1
    assert len(json.dumps(state)) < 300


@pytest.mark.parametrize("passes", [30, pytest.param(60, marks=pytest.mark.slow)])
def test_the_orders_of_live_jobs_pass_the_statistics_of_the_sampling_room(
    node: Node, passes: int
) -> None:
    node.up()
    options = {"data": {"length": 60}, "epochs": passes, "key": "k"}
    jobs = [read(node, batch_size=4, **options), read(node, batch_size=7, **options)]
    for job in jobs:
        _, *epochs, _ = job.result(120)
        ranks = []
        for rows in epochs:
            left = list(range(60))
            for row in rows:
                ranks.append((left.index(row), len(left)))
                left.remove(row)
        assert len(ranks) == 60 * passes
        assert rank_p_value(ranks) > ALPHA
        firsts = [(rows[0], 60) for rows in epochs]
        assert rank_p_value(firsts, bins=4) > ALPHA


MEETS = """
class Hidden(Squares):
    def __getitem__(self, row):
        return np.array([row + int(open("hidden").read())])

loader = joader.DataLoader(Hidden(60), batch_size=6, deterministic=True, num_workers=1)
rows = sorted(int(row) for batch in loader for row in batch[:, 0])
say([rows[0], rows[-1], len(rows), loader.stats().shared])
"""


def test_what_was_prepared_outlives_its_job_and_the_next_run_finds_it(node: Node) -> None:
    node.up()
    (node.folder / "hidden").write_text("0")
    assert node.job(MEETS).result() == [[0, 59, 60, 0]]
    assert node.job(MEETS).result() == [[0, 59, 60, 60]]


def test_jobs_whose_rows_differ_where_nobody_can_see_share_nothing(node: Node) -> None:
    node.up()
    (node.folder / "hidden").write_text("0")
    assert node.job(MEETS).result() == [[0, 59, 60, 0]]
    (node.folder / "hidden").write_text("1000")  # behind a path: no fingerprint sees it
    other = node.job(MEETS)
    out, err = other.process.communicate(timeout=60)
    assert json.loads(out) == [1000, 1059, 60, 0]
    assert "comes out otherwise here" in err


RANDOM_MEETS = """
class Hidden(Squares):
    def __getitem__(self, row):
        return np.array([row + int(open("hidden").read()), np.random.rand()]), {row}

loader = joader.DataLoader(Hidden(60), batch_size=6, num_workers=1, collate_fn=list)
rows = sorted(int(values[0]) for batch in loader for values, _ in batch)
say([rows[0], rows[-1], len(rows), loader.stats().shared])
sys.stdin.readline()
"""


def test_jobs_with_random_code_are_compared_as_well(node: Node) -> None:
    """By the random numbers of what is here, and though an object lies beside each row."""
    node.up()
    (node.folder / "hidden").write_text("0")
    first = node.job(RANDOM_MEETS)
    assert first.line() == [0, 59, 60, 0]
    second = node.job(RANDOM_MEETS)
    assert second.line() == [0, 59, 60, 60]
    (node.folder / "hidden").write_text("1000")  # behind a path: no fingerprint sees it
    other = node.job(RANDOM_MEETS)
    assert other.line() == [1000, 1059, 60, 0]
    for job in (first, second, other):
        job.say("")
    for job in (first, second):
        job.result()
    assert "comes out otherwise here" in other.process.communicate(timeout=60)[1]
