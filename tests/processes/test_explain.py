"""`joader explain`: what two jobs share, or what keeps them from it, in words a user can act on."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.processes.conftest import Node
from tests.processes.jobs import Job
from tests.warm import process as warm

HOLD = """
from joader import images
def first(sample): return sample
def second(sample): return sample[0], sample[1]
{make}
options = {{"batch_size": 4, "as_numpy": True, **{options}}}
loader = joader.DataLoader({dataset}, **options)
reading = iter(loader)
next(reading)
say("reading")
sys.stdin.readline()
"""


def holding(node: Node, dataset: str, options: str = "{}", make: str = "", **variables: str) -> Job:
    job = node.job(HOLD.format(dataset=dataset, options=options, make=make), **variables)
    assert job.line() == "reading"
    return job


def explained(node: Node, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "joader.cli.main", "explain", *arguments]
    return warm.run(
        command,
        env={**os.environ, "JOADER_RUNTIME": str(node.folder / "run")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def facts(node: Node, one: Job, other: Job) -> dict[str, Any]:
    found = explained(node, str(one.process.pid), str(other.process.pid), "--json")
    assert found.returncode == 0, found.stderr
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def done(*jobs: Job) -> None:
    for job in jobs:
        job.say("on")
        job.result()


def test_two_subsets_of_one_dataset(node: Node) -> None:
    node.up()
    one = holding(node, "Squares(100)", "{'prepare': [first], 'deterministic': True}")
    other = holding(node, "Squares(100)", "{'prepare': [first], 'transform': [second]}")
    found = facts(node, one, other)
    assert found["same_recipe"]
    assert found["rows_in_common"] == 100
    assert found["why_not"] == ""
    told = explained(node, str(one.process.pid), str(other.process.pid)).stdout
    assert "rows in common: 100 of 100 and 100" in told
    assert "prepared in common: reading → first" in told
    assert "alone: second" in told
    assert "deterministic=True" in told
    done(one, other)


def test_jobs_that_read_their_rows_themselves_are_not_said_to_share_them(node: Node) -> None:
    node.up()
    one, other = (holding(node, "Squares(40)", "{'num_workers': 0}") for _ in range(2))
    with_workers = holding(node, "Squares(40)", "{'num_workers': 1}")
    pids = [str(job.process.pid) for job in (one, other, with_workers)]
    told = explained(node, *pids[:2]).stdout
    assert "once for both" not in told
    assert "nothing is prepared in common: both read their rows themselves" in told
    told = explained(node, *pids[1:]).stdout
    assert "once for both" not in told
    assert "what it reads itself nobody else gets" in told
    done(one, other, with_workers)


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (("Squares(40)",), ("Squares(40, side=8)",), "side"),
        (("Squares(40)", "{'prepare': [first]}"), ("Squares(40)",), "prepare[0] is first in one"),
        (
            ("Squares(40)", "{'prepare': [first, second]}"),
            ("Squares(40)", "{'prepare': [first, first]}"),
            "prepare[1] is second in one and first in the other",
        ),
        (("Squares(40)", "{'key': 'a'}"), ("Squares(40)", "{'key': 'b'}"), "key='a' and key='b'"),
        (
            ("Squares(40)", "{'order': 'seeded', 'sampler': list(range(40))}"),
            ("Squares(40)",),
            "order='seeded'",
        ),
    ],
)
def test_what_keeps_jobs_from_sharing(
    node: Node, one: tuple[str, ...], other: tuple[str, ...], words: str
) -> None:
    node.up()
    jobs = holding(node, *one), holding(node, *other)
    found = facts(node, *jobs)
    assert not found["same_recipe"]
    assert words in found["why_not"]
    done(*jobs)


def test_other_import_paths(node: Node) -> None:
    node.up()
    make = "import joader.storage as storage\ndata = storage.open_storage({'x': np.arange(20)})"
    one = holding(node, "data", make=make)
    paths = [path for path in (os.environ.get("PYTHONPATH"), str(node.folder)) if path]
    other = holding(node, "data", make=make, PYTHONPATH=os.pathsep.join(paths))
    assert "other import paths" in facts(node, one, other)["why_not"]
    done(one, other)


def test_files_that_changed_and_other_files(node: Node) -> None:
    node.up()
    for place in ("one", "two"):
        (node.folder / place).mkdir()
        for number in range(8):
            (node.folder / place / f"{number}.bin").write_bytes(bytes([number]) * 10)
    make = "from joader.storage import open_storage"
    before = holding(node, "open_storage('one', kind='files')", make=make)
    elsewhere = holding(node, "open_storage('two', kind='files')", make=make)
    assert "other data: " in facts(node, before, elsewhere)["why_not"]
    (node.folder / "one" / "3.bin").write_bytes(b"another")
    after = holding(node, "open_storage('one', kind='files')", make=make)
    found = facts(node, before, after)
    assert found["rows_in_common"] == 0
    assert "has changed between the starts" in found["why_not"]
    options = "{'prepare': [first], 'sampler': [1, 2, 3, 4, 5]}"
    prepared = holding(node, "open_storage('two', kind='files')", options, make=make)
    found = facts(node, elsewhere, prepared)
    assert found["rows_in_common"] == 8  # of different recipes, by the files' own numbers
    assert "prepare[0] is missing in one and first in the other" in found["why_not"]
    done(before, elsewhere, after, prepared)


def test_jobs_by_number_name_and_process_and_who_is_not_there(node: Node) -> None:
    node.up()
    one = holding(node, "Squares(10)", "{'job': 'left'}")
    other = holding(node, "Squares(10)", "{'job': 'right'}")
    assert "rows in common: 10 of 10 and 10" in explained(node, "left", "2").stdout
    wrong = explained(node, "left", "nobody")
    assert wrong.returncode == 2
    assert "no job 'nobody'; the daemon serves 1 (left, process" in wrong.stderr
    done(one, other)
    assert "none now" in explained(node, "left", "nobody").stderr
    ended = explained(node, "left", "right")
    assert ended.returncode == 0
    assert ended.stdout.count("; ended ") == 2
