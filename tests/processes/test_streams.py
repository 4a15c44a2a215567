"""Streams through the daemon: real jobs at their own speeds, each of which sees reshuffles.

Power: with 40 rows and the passes of the fast test (160, 80 and 40) a cell of the 5 x 5 table that
is off by 27 to 53 % is found at z = 5; in the slow test (1,600, 800 and 400) by 8 to 17 %. Sharper
tests of the sampler itself are in tests/sampling; this is for what lies around it: windows,
look-ahead, joining and leaving. 27 values are compared with 5, so a right daemon fails once in
60,000 runs.
"""

import json

import numpy as np
import pytest

from tests.processes.conftest import Node
from tests.sampling.passes import LIMIT, Played, scores

ROWS = 40
SOME = "48KiB"  # room for half of the rows, of which the jobs' shares take a half

READ = """
options = json.loads(sys.argv[1])
passes, rest_s = options.pop("passes"), options.pop("rest_s", 0)
data = Squares(options.pop("length"))
loader = joader.DataLoader(data, shuffle=True, deterministic=True, **options)
for _ in range(passes):
    rows = []
    for batch in loader:
        rows += check(batch)
        time.sleep(rest_s)
    say(rows)
stats = loader.stats()
say([stats.delivered, stats.prepared])
loader.close()
"""


def read_at_three_speeds(node: Node, passes: int, memory: str) -> None:
    """Let three jobs read, the first four times as fast as the last, and look at each."""
    node.up(memory, 2)
    jobs = [
        node.job(
            READ,
            json.dumps(
                {"length": ROWS, "batch_size": 2, "passes": passes // slow, "rest_s": 4e-4 * slow}
            ),
        )
        for slow in (1, 2, 4)
    ]
    prepared = delivered = 0
    for job in jobs:
        *orders, stats = job.result()
        assert all(sorted(rows) == list(range(ROWS)) for rows in orders)
        played = Played([np.array(rows) for rows in orders])
        for name, z in scores(played, ROWS, [np.arange(ROWS // 2)]).items():
            assert z < LIMIT, name
        delivered, prepared = delivered + stats[0], prepared + stats[1]
    assert prepared < 0.9 * delivered  # they do share


def test_jobs_at_three_speeds_each_see_reshuffles(node: Node) -> None:
    read_at_three_speeds(node, 160, SOME)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [SOME, "1MiB"])
def test_many_passes_at_three_speeds_each_see_reshuffles(node: Node, memory: str) -> None:
    read_at_three_speeds(node, 1600, memory)


def test_iterators_and_loaders_of_one_process_are_independent(node: Node) -> None:
    """As torch's are: a script that pairs samples must not get every row with itself."""
    node.up()
    script = """
def pairs(one, other):
    return [(a, b) for left, right in zip(one, other) for a, b in zip(check(left), check(right))]

one, other = (joader.DataLoader(Squares(400), batch_size=8, shuffle=True) for _ in range(2))
say(pairs(one, one))
say(pairs(one, other))
say(pairs(one, one))
"""
    for found in node.job(script).result():
        left, right = zip(*found, strict=True)
        assert sorted(left) == sorted(right) == list(range(400))
        # One of 400 is expected, and more than 12 once in 1e9.
        assert sum(a == b for a, b in found) <= 12


def test_a_loader_for_each_epoch_gets_no_random_sample_twice(node: Node) -> None:
    node.up()
    script = """
import random
class Random:
    def __len__(self):
        return 40
    def __getitem__(self, row):
        return random.random()
seen = []
for epoch in range(4):
    loader = joader.DataLoader(Random(), batch_size=8, shuffle=True)
    seen += [value for batch in loader for value in batch.tolist()]
say(len(set(seen)))
"""
    beside = node.job(script.replace("range(4)", "range(8)"))
    assert node.job(script).result() == [160]
    assert beside.result() == [320]


@pytest.mark.parametrize("after", ["shared", "joint", "seeded"])
@pytest.mark.parametrize("before", ["shared", "joint", "seeded"])
def test_a_state_of_any_order_goes_on_in_any_other(node: Node, before: str, after: str) -> None:
    node.up()
    script = """
def loader(order):
    return joader.DataLoader(Squares(90), batch_size=8, shuffle=True, order=order, key="same")

def read(some, most=99):
    rows = []
    for number, batch in enumerate(some):
        rows += check(batch)
        if number == most:
            break
    return rows

first, second = loader(sys.argv[1]), loader(sys.argv[2])
head = read(first, 3)
second.load_state_dict(first.state_dict())
say(head + read(second))
say(read(second))
"""
    for rows in node.job(script, before, after).result():
        assert sorted(rows) == list(range(90))


def test_a_state_from_before_streams_goes_on(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(90), batch_size=8, shuffle=True, key="same")
rows = check(next(iter(loader)))
state = loader.state_dict()
del state["life"]
loader = joader.DataLoader(Squares(90), batch_size=8, shuffle=True, key="same")
loader.load_state_dict(state)
say(sorted(rows + [row for batch in loader for row in check(batch)]))
"""
    assert node.job(script).result() == [list(range(90))]
