"""A loop that changes its dataset during a pass gets what the dataset is, not what others made.

Compared with torch in tests/drop_in/scripts/changed_in_loop.py.
"""

import pytest

from tests.processes.conftest import Node
from tests.processes.test_ranks import launch

SCRIPT = """
class Steps(Squares):
    step = 0
    def __getitem__(self, row):
        return super().__getitem__(row)[1], self.step

def told(loader, rows):
    numbers, steps = [], []
    for number, (row, step) in enumerate(loader):
        numbers += row.tolist()
        steps += sorted(set(step.tolist()))
        rows.step = number + 1
    return numbers, steps
"""
OTHERS = """
rows = Steps(24)
kept = dict(batch_size=4, shuffle=True, deterministic=True)
list(joader.DataLoader(rows, num_workers=1, **kept))        # another loader has prepared all rows
again = {"workers": {"num_workers": 1}, "unset": {}, "none": {"num_workers": 0}}[sys.argv[1]]
loader = joader.DataLoader(rows, **kept, **again)
numbers, steps = told(loader, rows)
assert sorted(numbers) == list(range(24))
stats = loader.stats()
say([steps, stats.hits, stats.fallback])
rows.step = 7                                               # the next pass is of what it is by then
say([sorted(set(s for _, steps in loader for s in steps.tolist())), loader.stats().delivered])
loader.close()
"""
RANK = """
rows = Steps(24)
loader = joader.DataLoader(rows, 4, job="r", shuffle=True, num_workers=json.loads(sys.argv[1]))
for _ in range(2):
    rows.step = 0
    numbers, steps = told(loader, rows)
    say([numbers, steps])
say([])
sys.stdin.readline()
"""
NEXT_PASS = [[7], 48]


@pytest.mark.parametrize("workers", ["unset", "none"])
def test_what_others_have_prepared_is_not_taken_after_a_change(node: Node, workers: str) -> None:
    node.up()
    made, following = node.job(SCRIPT + OTHERS, workers).result()
    assert made == [[0, 1, 2, 3, 4, 5], 4, 0]
    assert following == NEXT_PASS


def test_who_asks_for_workers_reads_what_the_dataset_was_when_the_pass_began(node: Node) -> None:
    """As torch's workers do, which are forked then."""
    node.up()
    made, following = node.job(SCRIPT + OTHERS, "workers").result()
    assert made == [6 * [0], 24, 0]
    assert following == NEXT_PASS


@pytest.mark.parametrize("workers", ["null", "0"])
def test_a_rank_whose_dataset_changes_takes_its_part_of_every_step(
    node: Node, workers: str
) -> None:
    node.up()
    jobs = launch(node, SCRIPT + RANK, 2, workers)
    for _ in range(2):
        (one, steps), (other, steps_of_other) = (job.line() for job in jobs)
        assert sorted(one + other) == list(range(24))
        assert steps == steps_of_other == [0, 1, 2]
    for job in jobs:
        job.line()
        job.say("end")
        job.result()
