"""What new users ran into: each of these once went wrong without a word."""

import json

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import wait_until
from tests.processes.test_sharing import read


def test_a_sample_without_room_costs_no_worker(node: Node) -> None:
    node.up("256KiB", 1)
    for _ in range(2):
        assert (
            "and the budget is"
            in read(node, data={"length": 4, "side": 1024}, batch_size=1).error()
        )
    rows = read(node, data={"length": 20}, batch_size=4, timeout=20).result()[1]
    assert sorted(rows) == list(range(20))


def test_random_code_is_fresh_in_every_epoch_also_after_a_break(node: Node) -> None:
    node.up()
    script = """
class Random(Squares):
    def __getitem__(self, row):
        return np.random.default_rng().random(), row
loader = joader.DataLoader(Random(100), batch_size=10, shuffle=True)
seen = []
for epoch in range(4):
    for number, (values, rows) in enumerate(loader):
        seen += values.tolist()
        if epoch < 3 and number == 4:
            break
say([len(seen), len(set(seen))])
say(loader.stats().delivered)
loader.close()
"""
    (count, distinct), delivered = node.job(script).result()
    assert count == distinct == 250
    assert delivered >= 250


def test_random_code_is_fresh_also_where_old_iterators_are_kept(node: Node) -> None:
    # As Lightning does: the last epoch's iterator is still there when the next begins.
    node.up()
    script = """
class Random(Squares):
    def __getitem__(self, row):
        return np.random.default_rng().random(), row
loader = joader.DataLoader(Random(100), batch_size=10, shuffle=True)
kept, seen = [], []
for epoch in range(3):
    kept.append(iter(loader))
    seen += [value for values, rows in kept[-1] for value in values.tolist()]
say([len(seen), len(set(seen))])
"""
    assert node.job(script).result() == [[300, 300]]


def test_a_module_that_was_edited_is_read_anew(node: Node) -> None:
    node.up()
    module = node.folder / "mine.py"
    script = """
import mine
loader = joader.DataLoader(mine.Rows(), batch_size=4)
say([row for batch in loader for row in batch.tolist()])
loader.close()
"""
    found = []
    for factor in (1, 1000):
        module.write_text(
            "class Rows:\n    def __len__(self): return 4\n"
            f"    def __getitem__(self, row): return row * {factor}\n"
        )
        found.append(node.job(script, PYTHONDONTWRITEBYTECODE="1").result()[0])
    assert found == [[0, 1, 2, 3], [0, 1000, 2000, 3000]]
    wait_until(lambda: node.workers() == [])


def test_slow_rows_of_a_job_that_is_gone_do_not_block_the_next(node: Node) -> None:
    node.up(workers=1)
    slow = read(node, data={"length": 50, "slow_s": 60}, batch_size=2, timeout=1)
    error = slow.error()
    assert "Overdue" in error or "RowFailed" in error  # whoever loses patience first
    rows = read(node, data={"length": 20}, batch_size=4, timeout=30).result()[1]
    assert sorted(rows) == list(range(20))
    wait_until(lambda: node.status()["memory"]["used_bytes"] == 0)


def test_status_keeps_the_figures_of_jobs_that_have_ended(node: Node) -> None:
    node.up()
    read(node, data={"length": 50}, batch_size=8, num_workers=1).result()
    totals = node.status()["totals"]
    assert totals["delivered"] == totals["prepared"] + totals["hits"] == 50


def test_what_cannot_travel_is_read_by_forked_workers_and_refused_as_by_torch_elsewhere(
    node: Node,
) -> None:
    node.up()
    script = """
if __name__ == "__main__":
    data = Squares(4)
    data.file = open(sys.argv[0], "rb")
    options = json.loads(sys.argv[1])
    loader = joader.DataLoader(data, batch_size=2, **options)
    say([row for batch in loader for row in check(batch)])
"""
    for options in ({}, {"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "key": "k"}):
        assert node.job(script, json.dumps(options)).result() == [[0, 1, 2, 3]]
    options = {"num_workers": 2, "multiprocessing_context": "spawn"}
    assert "TypeError: cannot pickle '_io.Buf" in node.job(script, json.dumps(options)).error()
    wait_until(lambda: node.workers() == [])


def test_arguments_of_torchs_loader_are_taken_without_torch(node: Node) -> None:
    node.up()
    script = """
loader = joader.DataLoader(Squares(8), batch_size=2, num_workers=3, pin_memory=True, timeout=0)
say(sum(len(rows) for _, rows in loader))
loader.close()
loader = joader.DataLoader(Squares(8), 2, sampler=[1, 7, 7, 2, 1])
say([len(loader), *(check(batch) for batch in loader)])
loader.close()
loader = joader.DataLoader(Squares(8), batch_sampler=[[1], [7, 7, 2, 1], [0] * 20])
say([len(loader), *(check(batch) for batch in loader), *(check(batch) for batch in loader)])
loader.close()
loader = joader.DataLoader(Squares(40), batch_size=None, shuffle=True)
say(sorted(row for _, row in loader))
loader.close()
"""
    count, sampled, batches, singles = node.job(script).result()
    assert count == 8
    assert sampled == [3, [1, 7], [7, 2], [1]]
    assert batches == [3, *2 * [[1], [7, 7, 2, 1], [0] * 20]]
    assert singles == list(range(40))


def test_a_pass_in_a_samplers_order_goes_on_where_its_state_was_taken(node: Node) -> None:
    node.up()
    script = """
order = [3, 3, 5, 1, 0, 7, 7, 2, 4]
def loader():
    return joader.DataLoader(Squares(8), 2, sampler=order)
first = loader()
rows = []
for number, batch in enumerate(first):
    rows += check(batch)
    if number == 1:
        break
state = json.loads(json.dumps(first.state_dict()))
first.close()
second = loader()
second.load_state_dict(state)
rows += [row for batch in second for row in check(batch)]
assert rows == order, rows
assert [row for batch in second for row in check(batch)] == order
say(second.state_dict()["epoch"])
second.close()
"""
    assert node.job(script).result() == [2]


@pytest.mark.parametrize("options", [{}, {"num_workers": 0}, {"num_workers": 2}])
def test_an_iterator_whose_batch_failed_goes_on_with_the_next_as_torch_does(
    node: Node, options: dict[str, int]
) -> None:
    node.up()
    script = """
data = Squares(20, bad={5: "raise"})
loader = joader.DataLoader(data, batch_size=4, **json.loads(sys.argv[1]))
it, rows = iter(loader), []
try:
    for batch in it:
        rows += check(batch)
except ValueError as error:
    say("row 5 " in str(error))
say([rows, [row for batch in it for row in check(batch)]])
say(loader.state_dict()["epoch"])
"""
    named, (rows, rest), epoch = node.job(script, json.dumps(options)).result()
    assert (named, rows, rest) == (True, [0, 1, 2, 3], list(range(8, 20)))
    assert epoch == 1


def test_a_job_that_is_refused_leaves_nothing_in_the_daemon(node: Node) -> None:
    node.up("256KiB")
    data = {"length": 60, "side": 128}
    assert "Refusal" in read(node, data=data, batch_size=32, fallback=False).error()
    assert "seed is -1" in read(node, data={"length": 6}, batch_size=2, seed=-1).error()
    wait_until(lambda: node.status()["memory"]["used_bytes"] == 0)
    assert sorted(read(node, data={"length": 9}, batch_size=2).result()[1]) == list(range(9))


def test_a_job_may_wait_for_what_was_begun_for_one_that_has_just_left(node: Node) -> None:
    # The last reader of some code leaves while a worker has rows in hand, and the code is sent
    # anew with the next: what is in hand must not meet a worker that has just forgotten it.
    node.up("2MiB", 1)
    script = """
for turn in range(12):
    loader = joader.DataLoader(Squares(64, slow_s=0.01), batch_size=2)
    check(next(iter(loader)))
    loader.close()
loader = joader.DataLoader(Squares(64, slow_s=0.01), batch_size=2)
say(sorted(row for batch in loader for row in check(batch)))
"""
    assert node.job(script).result() == [list(range(64))]
