"""Whose workers prepare what: how many a job has, whom they help, what they inherit from it."""

import json
import os
import time
from collections import Counter
from typing import Any

import pytest

from tests.processes.conftest import Node, alive, nurseries
from tests.processes.jobs import Job, wait_until

READ = """
options = json.loads(sys.argv[1])
wait = options.pop("wait", False)
data = Signed(**options.pop("data"))
if "rows" in options:
    options["sampler"] = range(*options.pop("rows"))
loader = joader.DataLoader(data, **{"batch_size": 10, **options})
say(os.getpid())
sys.stdin.readline()
rows = [row for batch in loader for row in check(batch)]
stats = loader.stats()
say([rows, stats.prepared, stats.hits, stats.shared])
sys.stdin.readline()
"""


def made(node: Node, **options: object) -> Job:
    """Return a job that begins to read when it is told to, and stays when it has."""
    job = node.job(READ, json.dumps({"data": {"length": 200}, **options}))
    assert job.line() == job.process.pid
    return job


def most_workers(node: Node, job: Job) -> tuple[int, Any]:
    """Let a job read; return how many workers there were at most, and what it said."""
    most = 0
    job.say("on")
    while len(node.signed()) < 200:
        most = max(most, len(node.workers()))
        assert job.process.poll() is None, job.error()
        time.sleep(0.01)
    return most, job.line()


@pytest.mark.parametrize("count", [1, 3])
def test_there_are_as_many_workers_as_the_loader_says_and_no_more(node: Node, count: int) -> None:
    node.up("64MiB", 2)
    job = made(node, data={"length": 200, "slow_s": 0.01}, num_workers=count)
    most, (rows, *_) = most_workers(node, job)
    assert rows == list(range(200))
    assert most == count
    assert len({pid for _, pid, _ in node.signed()}) == count


def test_without_a_number_there_are_as_many_workers_as_the_daemon_has_cores_for(node: Node) -> None:
    node.up("64MiB", 2)
    most, (rows, *_) = most_workers(node, made(node, data={"length": 200, "slow_s": 0.02}))
    assert rows == list(range(200))
    assert most == 2


def test_jobs_with_equal_code_have_no_more_workers_together_than_the_machine_can_run(
    node: Node,
) -> None:
    node.up("64MiB", 2)
    data = {"length": 200, "slow_s": 0.02}
    jobs = [made(node, data=data, shuffle=True, num_workers=2) for _ in range(3)]
    for job in jobs:
        job.say("on")
    most = 0
    while len(node.signed()) < 200:
        most = max(most, len(node.workers()))
        time.sleep(0.01)
    for job in jobs:
        rows, *_ = job.line()
        assert sorted(rows) == list(range(200))
    assert most <= 4  # each has one at least


def test_workers_end_when_their_job_needs_them_no_more(node: Node) -> None:
    node.up()
    job = made(node, num_workers=2)
    job.say("on")
    job.line()
    job.say("end")
    job.result()
    wait_until(lambda: node.workers() == [])


@pytest.mark.slow
def test_idle_workers_end_after_ten_seconds_and_others_are_born_for_the_next_pass(
    node: Node,
) -> None:
    node.up()
    job = node.job("""
loader = joader.DataLoader(Squares(100, slow_s=0.01), batch_size=10, num_workers=2)
for epoch in range(2):
    say([row for batch in loader for row in check(batch)])
    sys.stdin.readline()
""")
    assert job.line() == list(range(100))
    begun = time.monotonic()
    workers = node.workers()
    assert len(workers) == 2
    nursery = nurseries(job.process.pid)
    wait_until(lambda: node.workers() == [])
    assert 8 < time.monotonic() - begun < 18
    assert not any(map(alive, workers))
    assert nurseries(job.process.pid) == nursery  # it waits, and takes no time to bear others
    job.say("on")
    assert job.line() == list(range(100))
    assert node.workers()


# Helping others.


@pytest.mark.parametrize("lend", [True, False])
def test_idle_workers_help_others_unless_their_loader_keeps_them(node: Node, lend: bool) -> None:
    node.up("64MiB", 4)
    data = {"length": 150, "slow_s": 0.02}
    idle = made(node, data=data, rows=[0, 50], num_workers=2, lend=lend)
    idle.say("on")
    assert idle.line()[0] == list(range(50))
    (its,) = nurseries(idle.process.pid)
    busy = made(node, data=data, rows=[50, 150], num_workers=1)
    busy.say("on")
    assert busy.line()[0] == list(range(50, 150))
    (own,) = nurseries(busy.process.pid)
    by = Counter(nursery for row, _, nursery in node.signed() if row >= 50)
    assert by.keys() <= {own, its}
    assert by[own] > 0
    assert (by[its] > 0) == lend


def test_workers_help_nobody_whose_code_is_another(node: Node) -> None:
    node.up("64MiB", 4)
    idle = made(node, data={"length": 150, "slow_s": 0.01}, rows=[0, 50], num_workers=2)
    idle.say("on")
    idle.line()
    busy = made(node, data={"length": 150, "slow_s": 0.011}, rows=[50, 150], num_workers=1)
    busy.say("on")
    busy.line()
    (own,) = nurseries(busy.process.pid)
    assert {nursery for row, _, nursery in node.signed() if row >= 50} == {own}


def test_a_row_that_a_job_alone_can_finish_is_finished_by_its_own_workers(node: Node) -> None:
    """Own parts are code that nobody else has."""
    node.up("64MiB", 4)
    script = """
own = {"double": lambda sample: (*sample, 2 * sample[1], os.getppid()),
       "triple": lambda sample: (*sample, 3 * sample[1], os.getppid())}[sys.argv[1]]
factor = {"double": 2, "triple": 3}[sys.argv[1]]
options = {"batch_size": 10, "shuffle": True, "num_workers": 2, "transform": [own]}
loader = joader.DataLoader(Squares(200, slow_s=0.005), **options)
rows, by = [], set()
for arrays, some, multiplied, nurseries in loader:
    rows += check((arrays, some))
    assert (multiplied == factor * some).all()
    by |= set(nurseries.tolist())
say(rows)
say(sorted(by))
sys.stdin.readline()
"""
    jobs = [node.job(script, name) for name in ("double", "triple")]
    for job in jobs:
        assert sorted(job.line()) == list(range(200))
        assert job.line() == nurseries(job.process.pid)


# Without workers.


def test_a_job_without_workers_reads_by_itself_and_starts_no_process(node: Node) -> None:
    node.up()
    job = made(node, num_workers=0)
    job.say("on")
    assert job.line()[0] == list(range(200))
    assert {pid for _, pid, _ in node.signed()} == {job.process.pid}
    assert nurseries(job.process.pid) == []
    assert node.workers() == []


def test_a_job_without_workers_takes_what_another_has_prepared(node: Node) -> None:
    node.up()
    first = made(node, num_workers=2, deterministic=True)
    first.say("on")
    assert first.line()[0] == list(range(200))
    second = made(node, num_workers=0, deterministic=True, shuffle=True)
    second.say("on")
    rows, prepared, hits, shared = second.line()
    assert sorted(rows) == list(range(200))
    assert (prepared, hits, shared) == (0, 200, 200)
    assert len(node.signed()) == 200


def test_what_a_job_has_prepared_is_there_when_it_has_gone(node: Node) -> None:
    node.up()
    first = made(node, num_workers=2, deterministic=True)
    first.say("on")
    assert first.line()[0] == list(range(200))
    first.say("end")
    first.result()
    wait_until(lambda: node.status()["jobs"] == [])
    for workers in (0, 2):
        job = made(node, num_workers=workers, deterministic=True, shuffle=True)
        job.say("on")
        assert sorted(job.line()[0]) == list(range(200))
    # A few are prepared once more, by workers of the next job, and compared.
    assert 200 <= len(node.signed()) <= 210


def test_a_job_without_workers_beside_one_with_them_reads_every_row_once(node: Node) -> None:
    node.up()
    data = {"length": 200, "slow_s": 0.005}
    jobs = [made(node, data=data, num_workers=count, shuffle=True) for count in (2, 0, 1)]
    for job in jobs:
        job.say("on")
    for job in jobs:
        rows, prepared, hits, _ = job.line()
        assert sorted(rows) == list(range(200))
        assert prepared + hits == 200
    # What it reads by itself it has no way to share.
    pids = Counter(pid for _, pid, _ in node.signed())
    assert sum(pids.values()) - pids[jobs[1].process.pid] <= 2 * 200


# What workers inherit.

TOLD = """
class Told(Squares):
    def __getitem__(self, row):
        array, row = super().__getitem__(row)
        about = [os.environ.get("MODE"), sorted(os.sched_getaffinity(0)), os.nice(0), os.getcwd()]
        return array, row, json.dumps(about)
options = {"batch_size": 10, "num_workers": 2, "shuffle": True, **json.loads(sys.argv[1])}
loader = joader.DataLoader(Told(200, slow_s=0.005), **options)
rows, told = [], set()
for arrays, some, about in loader:
    rows += check((arrays, some))
    told |= set(about)
say(rows)
say([json.loads(one) for one in told])
"""


def test_jobs_with_another_environment_each_have_their_own(node: Node) -> None:
    node.up()
    jobs = [node.job(TOLD, "{}", MODE=mode) for mode in ("left", "right")]
    for job, mode in zip(jobs, ("left", "right"), strict=True):
        rows, ((its, *_),) = job.result()
        assert sorted(rows) == list(range(200))
        assert its == mode


def test_an_environment_that_changes_in_the_job_is_that_of_the_next_pass(node: Node) -> None:
    node.up()
    job = node.job("""
class Told(Squares):
    def __getitem__(self, row):
        return (*super().__getitem__(row), os.environ.get("MODE", "none"))
loader = joader.DataLoader(Told(40), batch_size=10, num_workers=2)
for mode in ("one", "two"):
    os.environ["MODE"] = mode
    say(sorted({told for *_, some in loader for told in some}))
""")
    assert job.result() == [["one"], ["two"]]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_the_workers_of_each_job_have_its_cores_and_niceness(node: Node) -> None:
    node.up()
    first, second, *_ = sorted(os.sched_getaffinity(0))
    script = f"""
os.sched_setaffinity(0, [int(os.environ["CORE"])])
os.nice(int(os.environ["NICE"]))
{TOLD}"""
    options = json.dumps({"lend": False, "deterministic": False, "order": "seeded"})
    jobs = {
        (core, nice): node.job(script, options, CORE=str(core), NICE=str(nice), MODE=str(core))
        for core, nice in ((first, 7), (second, 3))
    }
    for (core, nice), job in jobs.items():
        rows, ((_, cores, niceness, _),) = job.result()
        assert sorted(rows) == list(range(200))
        assert (cores, niceness) == ([core], min(19, os.nice(0) + nice))
    assert node.daemon is not None
    assert os.sched_getaffinity(node.daemon.pid) == os.sched_getaffinity(0)


def test_each_job_has_its_own_modules_arguments_and_folder(node: Node) -> None:
    node.up()
    script = """
import settings
class Told(Squares):
    def __getitem__(self, row):
        about = [settings.VALUE, settings.CHANGED, sys.argv[1], os.path.basename(os.getcwd())]
        return (*super().__getitem__(row), json.dumps(about))
settings.CHANGED = sys.argv[1]  # as scripts do with what a command line says
if __name__ == "__main__":
    os.makedirs(sys.argv[1])
    os.chdir(sys.argv[1])
    loader = joader.DataLoader(Told(60), batch_size=10, num_workers=2)
    for _ in range(2):
        say([json.loads(one) for one in {told for *_, some in loader for told in some}])
"""
    (node.folder / "settings.py").write_text("VALUE, CHANGED = 1, None\n")
    jobs = [node.job(script, name) for name in ("one", "two")]
    for job, name in zip(jobs, ("one", "two"), strict=True):
        for told in job.result():
            assert told == [[1, name, name, name]]


# Datasets that change.


def test_a_dataset_that_changes_between_epochs_is_read_as_it_is_then(node: Node) -> None:
    node.up()
    job = node.job("""
class Scaled(Squares):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.scale, self.table = 1, np.zeros(3, np.int64)
    def __getitem__(self, row):
        return row, row * self.scale + int(self.table[1])
data = Scaled(60)
loader = joader.DataLoader(data, batch_size=10, shuffle=True, num_workers=2)
def read():
    pairs = [pair for batch in loader for pair in zip(*(part.tolist() for part in batch))]
    assert sorted(row for row, _ in pairs) == list(range(60))
    return sorted({value - row for row, value in pairs if row in (0, 1)})
say(read())
data.scale = 3
say(read())
data.table[1] = 10  # in place
say(read())
half = iter(loader)
before = next(half)
data.scale = 1  # a pass that has begun goes on with what it began with
rest = [pair for batch in (before, *half) for pair in zip(*(part.tolist() for part in batch))]
say(sorted({value - row for row, value in rest if row in (0, 1)}))
say(read())
""")
    assert job.result() == [[0], [0, 2], [10, 12], [10, 12], [10]]


def test_a_dataset_that_changes_in_one_job_does_not_change_for_another(node: Node) -> None:
    node.up()
    script = """
class Scaled(Squares):
    scale = 1
    def __getitem__(self, row):
        return (*super().__getitem__(row), self.scale)
data = Scaled(100, 16, None, 0.002)
loader = joader.DataLoader(data, batch_size=10, shuffle=True, num_workers=1, deterministic=True)
for epoch in range(4):
    rows, scales = [], set()
    for arrays, some, its in loader:
        rows += check((arrays, some))
        scales |= set(its.tolist())
    assert sorted(rows) == list(range(100))
    say(sorted(scales))
    data.scale = data.scale + int(sys.argv[1])
"""
    still, moving = node.job(script, "0"), node.job(script, "1")
    assert still.result() == [[1]] * 4
    assert moving.result() == [[1], [2], [3], [4]]
