"""How a job starts its nursery: as torch starts workers, and none of what hurts beyond that."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from joader.messages import (
    Prepared,
)
from tests.workers.house import House, wait_until_gone


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


MODULE = """
import numpy as np

class Rows:
    def __init__(self, scale=1):
        self.scale = scale

    def __len__(self):
        return 100

    def __getitem__(self, row):
        return np.full(8, row * self.scale)
"""


def test_the_nursery_is_no_child_that_others_join_or_count(house: House) -> None:
    job = house.job("""
import multiprocessing
nursery = born()
say(multiprocessing.active_children())
for child in multiprocessing.active_children():
    child.join()
say(nursery.alive)
nursery.end()
say(nursery.alive)
nursery.end()
""")
    assert job.result() == [[], True, False]


def test_a_job_ends_at_once_whether_its_nursery_was_ended_or_not(house: House) -> None:
    job = house.job("""
nursery = born()
say(nursery._process.pid)
""")
    pid = job.line()
    assert job.result(timeout_s=20) == []
    wait_until_gone(pid)


def test_a_nursery_that_ended_leaves_no_zombie_and_no_descriptor(house: House) -> None:
    job = house.job("""
import gc
def descriptors():
    return len(os.listdir("/proc/self/fd"))
born().end()
gc.collect()
before = descriptors()
pids = []
for _ in range(5):
    nursery = born()
    pids.append(nursery._process.pid)
    nursery.end()
del nursery
gc.collect()
import joader.client.reading.births as births
deadline = time.monotonic() + 10
while births._ending and time.monotonic() < deadline:
    time.sleep(0.01)
    births._reap()
say(descriptors() - before)
say([pid for pid in pids if os.path.exists(f"/proc/{pid}")])
""")
    assert job.result() == [0, []]


def test_a_nursery_goes_with_the_last_who_needs_it(house: House) -> None:
    job = house.job("""
nursery = born()
say(nursery._process.pid)
del nursery
wait()
""")
    pid = job.line()
    wait_until_gone(pid)
    job.say("go on")
    job.result()


def test_a_process_that_the_job_forks_has_no_part_in_it(house: House) -> None:
    job = house.job("""
nursery = born()
nursery.attend(sys.argv[1], 1)
child = os.fork()
if child == 0:
    say(nursery.alive)
    nursery.end()
    del nursery
    sys.exit()
os.waitpid(child, 0)
say(nursery.alive)
wait()
""")
    assert job.line() is False
    assert job.line() is True
    worker = house.bear(house.guest())
    assert isinstance(house.cook(worker, 3), Prepared)


def test_a_process_of_a_pool_may_have_one(house: House) -> None:
    job = house.job("""
import multiprocessing
def inside(_):
    nursery = born()
    alive = nursery.alive
    nursery.end()
    return alive, multiprocessing.current_process().daemon
with multiprocessing.get_context("fork").Pool(1) as pool:
    say(pool.map(inside, [1])[0])
""")
    assert job.result() == [[True, True]]


def test_whoever_waits_for_all_children_disturbs_nothing(house: House) -> None:
    job = house.job("""
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
nursery = born()
nursery.end()
born().end()
say("fine")
""")
    assert job.result() == ["fine"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_started_anew_it_has_the_jobs_dataset_and_names_it_there(
    house: House, tmp_path: Path, method: str
) -> None:
    (tmp_path / "data.py").write_text(MODULE)
    job = house.job(f"""
if __name__ == "__main__":
    import data
    dataset = data.Rows(3)
    nursery = born(dataset, {method!r}, named=dataset)
    from joader.recipe.fingerprint import look
    say([bool(nursery.recipe), nursery.recipe == look(dataset).name, bool(nursery.place)])
    nursery.attend(sys.argv[1], 1)
    wait()
""")
    assert job.line() == [True, True, True]
    worker = house.bear(house.guest())
    report = house.cook(worker, 5)
    assert isinstance(report, Prepared)
    assert house.arena.view.view("int64")[:8].tolist() == [15] * 8


def test_what_cannot_be_pickled_raises_as_it_does_with_torch_and_leaves_nothing(
    house: House,
) -> None:
    job = house.job("""
if __name__ == "__main__":
    before = len(os.listdir("/proc/self/fd"))
    try:
        born(lambda: 3, "spawn")
    except Exception as error:
        say(type(error).__name__)
        del error
    import gc
    gc.collect()
    say(len(os.listdir("/proc/self/fd")) - before <= 2)  # multiprocessing keeps its tracker
""")
    kind, few = job.result()
    assert kind in ("PicklingError", "AttributeError")
    assert few


def test_a_script_without_a_guard_is_told_what_it_lacks(house: House) -> None:
    job = house.job("""
try:
    born(None, "spawn", named=3)
except Exception as error:
    say(str(error))
""")
    texts = job.result()
    assert any("if __name__ == '__main__':" in text for text in texts), texts


def test_libraries_that_are_loaded_anew_start_no_threads_and_the_job_is_as_it_was(
    house: House, tmp_path: Path
) -> None:
    (tmp_path / "data.py").write_text(MODULE)
    job = house.job("""
if __name__ == "__main__":
    import data
    os.environ["MKL_NUM_THREADS"] = "7"
    os.environ.pop("OMP_NUM_THREADS", None)
    before = dict(os.environ)
    nursery = born(data.Rows(), "spawn", named=None)
    say(dict(os.environ) == before)
    say(nursery._process.pid)
    wait()
""")
    assert job.line() is True
    environment = Path(f"/proc/{job.line()}/environ").read_bytes().split(b"\0")
    assert b"OMP_NUM_THREADS=1" in environment
    assert b"MKL_NUM_THREADS=7" in environment


def test_a_job_may_have_thousands_of_files_open(house: House) -> None:
    job = house.job("""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
files = [open("/dev/null") for _ in range(1500)]
nursery = born()
say(nursery.alive)
nursery.end()
say(nursery.alive)
""")
    assert job.result() == [True, False]


@pytest.mark.parametrize(
    ("what", "name"),
    [("dataset=Holding()", "dataset.scale"), ("worker_init_fn=lambda n: n", "worker_init_fn")],
)
def test_what_cannot_be_pickled_is_named(house: House, what: str, name: str) -> None:
    job = house.job(f"""
class Holding(Rows):
    def __init__(self):
        self.scale = lambda x: 2 * x

if __name__ == "__main__":
    try:
        born({what}, method="spawn")
    except Exception as error:
        say(error.__notes__)
""")
    (notes,) = job.result()
    assert len(notes) == 1
    assert notes[0].startswith(f"joader: {name} cannot be pickled, as the start method 'spawn'")
    assert "not lambdas" in notes[0]
