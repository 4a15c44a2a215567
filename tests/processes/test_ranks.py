"""Several processes that train one model: one plan, a part of each step for every rank.

Ranks are what a launcher says (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT); only the tests with
DDP in their name import torch.
"""

import json
import math
import signal
import socket
import subprocess
import sys
from typing import Any

import pytest

from tests.processes.conftest import Node, processes_with
from tests.processes.jobs import Job, wait_until

READ = """
options = json.loads(sys.argv[1])
data = Squares(**options.pop("data"))
rank = int(os.environ["RANK"])
steps = options.pop("steps", None)
passes = options.pop("passes", 1)
state = options.pop("state", None)
what = options.pop("what", "")
wait = options.pop("wait", None)
options.setdefault("job", "train")
options.setdefault("key", "squares")
options.setdefault("timeout", 60)
sampler = options.pop("sampler", None)
loader = joader.DataLoader(data, sampler=sampler, **options)
if state is not None:
    loader.load_state_dict(state)
if what == "iter twice":
    iter(loader), iter(loader)
for number in range(passes):
    if what == "rank 0 is late" and number == 1:
        loader.timeout = 1
        time.sleep(0 if rank else 2.5)
    rows, states = [], []
    for batch in loader:
        rows.append(check(batch) if loader.batch_size else [int(batch[1])])
        states.append(loader.state_dict())
        if wait and len(rows) == 2:
            say("reading")
            sys.stdin.readline()
        if len(rows) == steps:
            break
    say([rows, states])
stats = loader.stats()
say([stats.delivered, stats.prepared, stats.hits, stats.shared, stats.repeated, len(loader)])
loader.close()
"""


def free_port() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return str(sock.getsockname()[1])


def launch(node: Node, script: str, world_size: int, *arguments: str) -> list[Job]:
    """Start all ranks of a job."""
    port = free_port()
    return [
        node.job(
            script,
            *arguments,
            RANK=str(rank),
            WORLD_SIZE=str(world_size),
            LOCAL_WORLD_SIZE=str(world_size),
            LOCAL_RANK=str(rank),
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
            **({"OMP_NUM_THREADS": "1"} if "import torch" in script else {}),
        )
        for rank in range(world_size)
    ]


def ranks(node: Node, world_size: int, **options: Any) -> list[Job]:
    return launch(node, READ, world_size, json.dumps(options))


def read(node: Node, world_size: int, **options: Any) -> list[list[Any]]:
    """Return what each rank said."""
    return [job.result() for job in ranks(node, world_size, **options)]


def check_steps(results: list[list[Any]], number: int = 0) -> list[int]:
    """Check that steps are equal and disjoint, and states the same; return rows in their order."""
    passes = [result[number] for result in results]
    steps = list(zip(*(rows for rows, _ in passes), strict=True))
    seen: list[int] = []
    for parts in steps:
        assert len({len(part) for part in parts}) == 1
        step = [row for part in parts for row in part]
        if parts is not steps[-1]:
            assert len(set(step)) == len(step)
        seen += step
    for states in zip(*(states for _, states in passes), strict=True):
        assert all(state == states[0] for state in states)
    return seen


@pytest.mark.parametrize(
    ("world_size", "rows", "shuffle"),
    [
        pytest.param(2, 60, True, marks=pytest.mark.slow),
        (2, 61, False),
        (4, 61, True),
        (3, 2, True),
    ],
)
def test_each_row_comes_once_in_equal_steps(
    node: Node, world_size: int, rows: int, shuffle: bool
) -> None:
    node.up()
    more = {"shuffle": shuffle, "order": "shared" if shuffle else "seeded", "passes": 2}
    results = read(node, world_size, data={"length": rows}, batch_size=5, **more)
    for number in range(2):
        seen = check_steps(results, number)
        assert set(seen) == set(range(rows))
        assert len(seen) - rows == -rows % world_size
    for *_, (delivered, prepared, hits, _, repeated, length) in results:
        assert length == math.ceil(rows / (5 * world_size))
        assert repeated == 2 * (-rows % world_size)
        assert delivered == prepared + hits
    assert sum(result[-1][0] for result in results) == 2 * (rows + -rows % world_size)


def test_drop_last_leaves_the_last_step_out_and_single_samples_are_steps_too(node: Node) -> None:
    node.up()
    dropped = read(node, 2, data={"length": 53}, batch_size=8, shuffle=True, drop_last=True)
    assert len(set(check_steps(dropped))) == len(check_steps(dropped)) == 48
    single = read(node, 2, data={"length": 9}, batch_size=None, shuffle=True)
    assert sorted(set(check_steps(single))) == list(range(9))
    assert single[0][-1][-2:] == [1, 5]


@pytest.mark.parametrize(
    ("order", "world_size", "batch_size"),
    [
        ("shared", 1, 10),
        ("seeded", 4, 3),
        pytest.param("shared", 2, 4, marks=pytest.mark.slow),
        pytest.param("seeded", 2, 4, marks=pytest.mark.slow),
    ],
)
def test_a_job_goes_on_with_other_ranks_and_batches(
    node: Node, order: str, world_size: int, batch_size: int
) -> None:
    node.up()
    data = {"length": 90}
    more: dict[str, Any] = {"shuffle": True, "order": order}
    before = read(node, 2, data=data, batch_size=4, steps=5, **more)
    first = check_steps(before)
    assert len(set(first)) == 40
    state = before[1][0][1][-1]
    after = read(node, world_size, data=data, batch_size=batch_size, state=state, **more)
    second = check_steps(after)
    assert sorted(set(second)) == sorted(set(range(90)) - set(first))
    assert len(second) - 50 == -50 % world_size
    if order == "seeded":
        whole = check_steps(read(node, 2, data=data, batch_size=4, **more))
        assert [row for row in whole if row not in first] == second[:50]


def test_loaders_of_one_job_are_independent(node: Node) -> None:
    """As those of one process are: two that are paired must not read one stream side by side."""
    node.up()
    script = """
one, other = (
    joader.DataLoader(Squares(400), batch_size=8, shuffle=True, job="train", key="squares")
    for _ in range(2)
)
say([[check(batch) for batch in pair] for pair in zip(one, other)])
"""
    when: tuple[dict[int, int], ...] = ({}, {})
    for job in launch(node, script, 2):
        for step, pair in enumerate(job.result()[0]):
            for steps, batch in zip(when, pair, strict=True):
                steps |= dict.fromkeys(batch, step)
    assert len(when[0]) == len(when[1]) == 400
    # 119 of 625 pairs of steps, so 76 rows of 400 are expected, with a deviation of about 8. Side
    # by side all were a few steps apart: 0.
    assert 30 < sum(abs(when[0][row] - when[1][row]) <= 2 for row in range(400)) < 125


def test_a_sampler_of_the_users_own_is_never_split(node: Node) -> None:
    node.up()
    for rows, _ in (result[0] for result in read(node, 2, data={"length": 9}, sampler=[1, 1, 8])):
        assert rows == [[1], [1], [8]]


def test_jobs_side_by_side_share_what_they_prepare(node: Node) -> None:
    node.up()
    log = node.folder / "log"
    data = {"length": 200, "log": str(log), "slow_s": 0.01}
    jobs = [
        ranks(node, 2, data=data, batch_size=4, shuffle=True, job=name, deterministic=True)
        for name in ("a", "b")
    ]
    for job in jobs:
        assert sorted(check_steps([rank.result() for rank in job])) == list(range(200))
    assert len(log.read_text().split()) < 300


def test_who_only_calls_iter_takes_part_in_no_pass(node: Node) -> None:
    node.up()
    results = read(node, 2, data={"length": 20}, batch_size=4, shuffle=True, what="iter twice")
    assert sorted(check_steps(results)) == list(range(20))
    assert results[0][0][1][0]["epoch"] == 2


def test_a_pass_that_is_broken_off_leaves_the_next_whole(node: Node) -> None:
    node.up()
    results = read(node, 2, data={"length": 40}, batch_size=4, shuffle=True, steps=2, passes=3)
    for number in range(3):
        assert len(set(check_steps(results, number))) == 16


def test_a_rank_that_is_late_and_alive_is_waited_for(node: Node) -> None:
    node.up()
    late = ranks(node, 2, data={"length": 20}, batch_size=5, passes=2, what="rank 0 is late")
    results = [job.result() for job in late]
    assert sorted(check_steps(results, 1)) == list(range(20))


def test_when_a_rank_is_killed_the_others_are_told_which_at_once(node: Node) -> None:
    node.up()
    first, second = ranks(node, 2, data={"length": 90}, batch_size=5, timeout=600, wait=True)
    assert first.line() == second.line() == "reading"
    second.kill()
    first.say("on")
    error = first.error(timeout_s=30)
    assert "rank 1 of job 'train at 127.0.0.1:" in error
    assert "has left in the middle of the pass, and the others cannot go on without it" in error
    wait_until(lambda: node.status()["jobs"] == [])


def test_a_rank_that_never_comes_is_named(node: Node) -> None:
    node.up()
    script = READ.replace('if what == "iter twice"', 'if rank == 1: sys.exit()\nif what == "i2"')
    jobs = launch(node, script, 2, json.dumps({"data": {"length": 9}, "timeout": 1}))
    assert "of 2 ranks of job 'train at 127.0.0.1:" in (error := jobs[0].error())
    assert "rank 1 is not here" in error
    jobs[1].result()


@pytest.fixture
def _daemons_of_jobs_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_IDLE_S", "1")


@pytest.mark.usefixtures("_daemons_of_jobs_end_soon")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_daemon_goes_ranks_meet_in_a_new_one(node: Node, number: int) -> None:
    node.up()
    jobs = ranks(node, 3, data={"length": 91}, batch_size=4, shuffle=True, wait=True, passes=2)
    for job in jobs:
        assert job.line() == "reading"
    assert node.daemon is not None
    node.daemon.send_signal(number)
    for job in jobs:
        job.say("on\non")
    node.daemon.wait()
    node.daemon = None
    # The first pass, that it reads the second, and the second.
    results = [[said[0], said[2]] for said in (job.result() for job in jobs)]
    for which in range(2):
        seen = check_steps(results, which)
        assert set(seen) == set(range(91))
        assert len(seen) == 93
    wait_until(lambda: not processes_with(str(node.run)))


CHANGES = """
class Curriculum(Squares):
    level = 0

    def __getitem__(self, row):
        array, row = super().__getitem__(row)
        return array, row, self.level

data, workers = Curriculum(48), json.loads(sys.argv[1])
loader = joader.DataLoader(data, 4, shuffle=True, num_workers=workers, job="train", timeout=20)
for level in range(3):
    data.level, rows, states = level, [], []
    for array, row, seen in loader:
        assert set(seen.tolist()) == {level}
        rows.append(check([array, row]))
        states.append(loader.state_dict())
    say([rows, states])
loader.close()
"""


@pytest.mark.parametrize(
    "num_workers", [1, *(pytest.param(few, marks=pytest.mark.slow) for few in (0, None))]
)
def test_ranks_whose_dataset_changes_between_passes_meet_again(
    node: Node, num_workers: int | None
) -> None:
    node.up()
    results = [job.result() for job in launch(node, CHANGES, 2, json.dumps(num_workers))]
    for number in range(3):
        assert sorted(check_steps(results, number)) == list(range(48))


# Nurseries are killed after steps that are told: (rank, step) each.
NURSERIES = """
class Slow(Squares):
    def __getitem__(self, row):
        time.sleep(0.003)
        return super().__getitem__(row)

def bereave(nursery):
    os.kill(nursery._process.pid, signal.SIGKILL)
    os.waitid(os.P_PIDFD, nursery.pidfd, os.WEXITED | os.WNOWAIT)

if __name__ == "__main__":
    deaths, options = map(json.loads, sys.argv[1:])
    loader = joader.DataLoader(Slow(192), 4, shuffle=True, job="train", key="k", **options)
    passing, rows, states = iter(loader), [], []
    for batch in passing:
        rows.append(check(batch))
        states.append(loader.state_dict())
        if [int(os.environ["RANK"]), len(rows)] in deaths:
            bereave(passing.connection.nursery)
    say([rows, states])
    loader.close()
"""


@pytest.mark.parametrize(
    "deaths",
    [
        [(0, 1), (1, 3), (0, 8), (1, 8), (0, 23)],
        *(
            pytest.param([death], marks=pytest.mark.slow)
            for death in ((0, 1), (0, 2), (1, 2), (0, 15), (0, 20), (1, 23))
        ),
    ],
)
@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_rank_whose_nursery_is_killed_costs_the_others_nothing(
    node: Node, deaths: list[tuple[int, int]], context: str
) -> None:
    node.up()
    options = {"num_workers": 1, "timeout": 30, "multiprocessing_context": context}
    jobs = launch(node, NURSERIES, 2, json.dumps(deaths), json.dumps(options))
    assert sorted(check_steps([job.result() for job in jobs])) == list(range(192))
    assert "job 3 joins" not in node.log()  # nobody has left


IN_STEP = """
loader = joader.DataLoader(Squares(40), batch_size=4, shuffle=True, job="train", key="k")
for batch in loader:
    say([check(batch), loader.state_dict()])
    sys.stdin.readline()
"""


@pytest.mark.usefixtures("_daemons_of_jobs_end_soon")
def test_a_rank_gets_its_part_of_a_step_while_the_other_waits_for_it(node: Node) -> None:
    """As in DDP: who has its part of a step does nothing more before all have theirs."""
    node.up()
    first, second = launch(node, IN_STEP, 2)
    steps = []
    for number in range(5):
        said = [first.line()]
        if number == 2:
            assert node.daemon is not None
            node.daemon.kill()
            node.daemon.wait()
            node.daemon = None
        if number:
            second.say("on")
        said.append(second.line())
        assert said[0][1] == said[1][1]
        steps.append(said[0][0] + said[1][0])
        first.say("on")
    second.say("on")
    assert first.result() == second.result() == []
    assert sorted(row for step in steps for row in step) == list(range(40))
    wait_until(lambda: not processes_with(str(node.run)))


def test_ranks_that_read_other_data_or_other_states_are_refused(node: Node) -> None:
    node.up()
    script = """
key = os.environ["RANK"]
list(joader.DataLoader(Squares(9), job="train", key=key, timeout=3))
"""
    errors = sorted(job.error() for job in launch(node, script, 2))
    assert any("reads other data, or other batches, than the ranks before" in e for e in errors)
    script = READ.replace("if state is not None:", "if rank == 1:\n    loader.set_epoch(7)\nif 0:")
    jobs = launch(node, script, 2, json.dumps({"data": {"length": 9}, "timeout": 3}))
    errors = sorted(job.error() for job in jobs)
    assert any("load the same state on all ranks" in error for error in errors)


DDP = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), 1e-4)
train_data, val_data = Squares(102, side=2), Squares(23, side=2)

def gathered(value):
    found = [None] * world_size
    dist.all_gather_object(found, value)
    return found

def run(loader, train):
    steps = []
    for arrays, rows in loader:
        loss = model(arrays.flatten(1).float()).mean()
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        states = gathered(loader.state_dict())
        assert all(state == states[0] for state in states)
        steps.append(gathered(rows.tolist()))
    assert set(gathered(len(steps))) == {len(loader)}
    return steps

sampler = DistributedSampler(train_data, shuffle=True, seed=3)
train = joader.DataLoader(train_data, 8, sampler=sampler, order="seeded", job="ddp", key="t")
in_order = DistributedSampler(val_data, shuffle=False)
val = joader.DataLoader(val_data, 8, sampler=in_order, job="ddp", key="v")
assert train.sampler is sampler
orders = {}
for epoch in (0, 1, 7, 1):
    sampler.set_epoch(epoch)
    steps = run(train, True)
    assert train.stats().epoch == epoch
    orders.setdefault(epoch, []).append([row for step in steps for part in step for row in part])
    steps = run(val, False)
    assert {row for step in steps for part in step for row in part} == set(range(23))
weights = gathered([p.tolist() for p in model.parameters()])
assert all(weight == weights[0] for weight in weights)
if rank == 0:
    say([orders, train.stats().repeated, val.stats().repeated, repr(train)])
dist.barrier()
dist.destroy_process_group()
train.close()
val.close()
"""


def check_ddp(said: list[Any], world_size: int) -> None:
    orders, repeated, repeated_in_val, text = said
    for passes in orders.values():
        for order in passes:
            assert set(order) == set(range(102))
            assert len(order) == 102 + -102 % world_size
    assert orders["1"][0] == orders["1"][1]  # the same epoch of the same seed
    assert len({str(passes[0]) for passes in orders.values()}) == 3
    assert repeated == 4 * (-102 % world_size)
    assert repeated_in_val == 4 * (-23 % world_size)
    assert text.endswith(f"rank 0 of {world_size})")


@pytest.mark.parametrize("world_size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_ddp_with_distributed_samplers_trains_and_validates(node: Node, world_size: int) -> None:
    node.up()
    said, *others = [job.result(120) for job in launch(node, DDP, world_size)]
    assert all(other == [] for other in others)
    check_ddp(said[0], world_size)


@pytest.mark.slow
def test_ddp_started_by_torchrun(node: Node) -> None:
    node.up()
    job = node.job(DDP)  # only for its file, and its environment
    job.kill(signal.SIGKILL)
    job.process.communicate()
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(job.process.args[1])],  # type: ignore[index]
        env=job.environment,
        cwd=node.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("[{")]
    check_ddp(json.loads(line), 2)
