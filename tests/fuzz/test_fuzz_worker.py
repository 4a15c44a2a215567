"""Workers that lie: reports of samples they do not have, of sizes that cannot be, of no layout.

User code runs beside the worker's own, so it can write to its socket. What it does to its own job
is its own business; the daemon must go on and free all memory in the end, and a job with other
workers must read every row once a pass.
"""

import os
import subprocess

import pytest

from tests.fuzz.test_fuzz_daemon import NEIGHBOUR
from tests.processes.conftest import Node
from tests.processes.jobs import Job, wait_until

LIAR = """
import random, stat
from joader.messages import Failed, Hello, Prepared, Sized
from joader.wire import frame

class Liar(Squares):
    def lie(self, chance, row):
        # The neighbour's samples are those below 200, ours the next.
        sample = chance.choice([200 + row] * 20 + [*range(200, 260), 7, 2**31, 2**31 + 1, 2**62])
        size = chance.choice([0, 1, 64, 256, 300, 2**20, 2**40, 2**62])
        lies = [
            frame(Prepared((sample,), (size,), (chance.randbytes(chance.randrange(8)),))),
            frame(Prepared((sample,), (1,))),
            frame(Prepared((sample, sample, 0), (size,))),
            frame(Sized((sample,), (size,))),
            frame(Sized((sample, 0), (size,))),
            frame(Sized((sample,), (size,))),
            frame(Failed(sample, "a lie")),
        ]
        if SEED % 4 == 3:  # its worker is killed at once, and hears no more of it
            lies += [lies[-1][: chance.randrange(9)], frame(Hello(1, 1)), chance.randbytes(9)]
        return chance.choice(lies)

    def __getitem__(self, row):
        chance = random.Random(f"{SEED} {row} {os.getpid()}")
        for number in range(3, 300):
            try:
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    for _ in range(chance.randrange(3)):
                        os.write(number, self.lie(chance, row))
            except OSError:
                pass
        return super().__getitem__(row)

liar = Liar(60)
loader = joader.DataLoader(liar, batch_size=4, shuffle=True, key="lies", timeout=5, fallback=False)
try:
    for batch in loader:
        pass
    say("all")
except Exception as error:
    say(type(error).__name__)
loader.close()
"""


def lie(node: Node, seed: int) -> None:
    job: Job = node.job(
        LIAR.replace("SEED", str(seed)),
        PYTHONPATH=f"{os.environ.get('PYTHONPATH', '')}:{node.folder}",
    )
    try:
        job.process.wait(30)
    except subprocess.TimeoutExpired:
        job.kill()


def siege(node: Node, seeds: range) -> None:
    node.up("4MiB")
    assert node.daemon is not None
    neighbour = node.job(NEIGHBOUR)
    neighbour.line()
    for seed in seeds:
        lie(node, seed)
        assert node.status()["pid"] == node.daemon.pid
    wait_until(lambda: len(node.status()["jobs"]) == 1)
    (node.folder / "enough").touch()
    passes = neighbour.result()[-1]
    assert node.status()["totals"]["delivered"] >= 200 * passes
    wait_until(lambda: node.status()["memory"]["pinned_bytes"] == 0)
    wait_until(lambda: node.workers() == [])


def test_what_a_worker_says_of_others_is_checked(node: Node) -> None:
    siege(node, range(2))


@pytest.mark.slow
def test_however_often_it_lies(node: Node) -> None:
    siege(node, range(2, 20))
