"""Rows that take no time: what a process has found out about them is known to its next loader."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.conftest import Node

SCRIPT = """
from joader.recipe import watch
watch.AT_HAND_S = watch.ALL_BUT_ONE_S = 60.0  # a busy machine may hold up the worker that finds out

events = []
watched = {"socket.connect", "socket.__new__", "os.fork", "subprocess.Popen"}
sys.addaudithook(lambda event, _: events.append(event) if event in watched else None)

class Numbers:
    def __init__(self, offset, length=40, slow_from=None):
        self.offset, self.length, self.slow_from = offset, length, slow_from

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        if self.slow_from is not None and row >= self.slow_from:
            time.sleep(0.001)
        return row + self.offset, os.getpid()

def read(dataset, **named):
    events.clear()
    loader = joader.DataLoader(dataset, batch_size=4, **named)
    return [[int(n) for n in numbers] for numbers, _ in loader], list(events), loader.stats()
"""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    node.up()
    yield node
    node.down()


def test_the_second_loader_starts_no_process_and_opens_no_connection(node: Node) -> None:
    job = node.job(
        SCRIPT
        + """
in_order = [list(range(n, n + 4)) for n in range(0, 40, 4)]
first, events, _ = read(Numbers(0))
say([first == in_order, "os.fork" in events, "socket.connect" in events])
for number in range(1, 4):
    found, events, stats = read(Numbers(100 * number))
    say([[n - 100 * number for n in batch] for batch in found] == in_order)
    say([events, stats.delivered, stats.prepared, stats.hits, stats.fallback])
shuffled, events, _ = read(Numbers(0), shuffle=True)
say([sorted(sum(shuffled, [])) == list(range(40)), shuffled != in_order, events])
zero, events, _ = read(Numbers(0), num_workers=0)
say([zero == in_order, events])
asked, events, _ = read(Numbers(0), num_workers=1)
say([asked == in_order, "os.fork" in events])
how = {"shuffle": True, "order": "seeded", "seed": 3}
(here, events, _), (there, _, _) = (read(Numbers(0), **how, **f) for f in ({}, {"fallback": False}))
say([here == there != in_order, "socket.connect" in events])
"""
    )
    expected: list[object] = [[True, True, True]]
    for _ in range(3):
        expected += [True, [[], 40, 40, 0, 0]]
    assert job.result() == [
        *expected,
        [True, True, []],
        [True, []],
        [True, True],
        [True, False],
    ]


def test_a_loader_with_0_workers_learns_it_by_itself(node: Node) -> None:
    job = node.job(
        SCRIPT
        + """
_, events, stats = read(Numbers(0), num_workers=0)
say(["os.fork" in events, "socket.connect" in events, stats.fallback])
for workers in (0, None):
    numbers, events, stats = read(Numbers(7), num_workers=workers)
    say([sum(numbers, []) == list(range(7, 47)), events, stats.fallback])
"""
    )
    assert job.result() == [[False, True, 0], [True, [], 0], [True, [], 0]]


def test_a_loader_that_took_few_rows_has_told_the_next_all_the_same(node: Node) -> None:
    """The worker reads ahead: what it finds is known though nobody asked for that row."""
    job = node.job(
        SCRIPT
        + """
from joader.client.dataset.learned import kind_of, learned_of
batches = iter(joader.DataLoader(Numbers(0), batch_size=2))
next(batches)
while not learned_of(kind_of(Numbers(0))).at_hand:
    time.sleep(0.001)
del batches
events.clear()
say([[next(iter(joader.DataLoader(Numbers(n), batch_size=2)))[0].tolist() for n in (1, 2)], events])
"""
    )
    assert job.result() == [[[[1, 2], [2, 3]], []]]


def test_rows_that_turn_slow_go_to_workers_at_once_and_each_comes_once(node: Node) -> None:
    job = node.job(
        SCRIPT
        + """
for named in ({}, {"shuffle": True}, {"sampler": list(range(199, -1, -1))}):
    class Turned(Numbers):
        pass
    read(Turned(0, slow_from=40))
    loader = joader.DataLoader(Turned(0, 200, slow_from=0), batch_size=4, **named)
    seen = [(int(n), int(pid)) for batch in loader for n, pid in zip(*batch)]
    say(sorted(n for n, _ in seen) == list(range(200)))
    say([pid == os.getpid() for _, pid in seen].index(False))
    say([pid == os.getpid() for _, pid in seen[12:]].count(True))
    say(loader.stats().fallback)
_, events, _ = read(Turned(0, slow_from=40))
say("os.fork" in events)
"""
    )
    assert job.result() == [True, 12, 0, 0] * 3 + [True]


def test_a_forked_child_knows_what_its_parent_has_found_out(node: Node) -> None:
    job = node.job(
        SCRIPT
        + """
read(Numbers(0))
child = os.fork()
found, events, _ = read(Numbers(3))
good = sum(found, []) == list(range(3, 43)) and not events
if not child:
    os._exit(7 if good else 1)
say([good, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])])
"""
    )
    assert job.result() == [[True, 7]]
