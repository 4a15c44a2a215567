"""Every example runs as it is, in a folder of its own, with few pictures and its own daemon."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.warm import process as warm

EXAMPLES = Path(__file__).parents[2] / "examples"
Run = Callable[..., str]

pytestmark = pytest.mark.slow  # importing torch alone takes seconds


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    pytest.importorskip("torch")
    environment = {
        **os.environ,
        "EXAMPLE_IMAGES": "60",
        "JOADER_RUNTIME": str(tmp_path / "run"),
        "PYTHON": sys.executable,
        "PYTHONPATH": "",
    }

    def run(*command: str) -> str:
        done = warm.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            torch=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    down = [sys.executable, "-m", "joader.cli.main", "down", "--force"]
    warm.run(down, env=environment, capture_output=True, check=False)


def python(name: str) -> tuple[str, str]:
    return sys.executable, str(EXAMPLES / name)


def test_a_single_job_trains(run: Run) -> None:
    said = run(*python("single_job.py"))
    assert "epoch 1: loss" in said
    assert "120 samples delivered, 120 prepared" in said


def test_four_jobs_from_a_shell_loop_share(run: Run) -> None:
    said = run("sh", str(EXAMPLES / "four_jobs.sh"))
    assert said.count("epoch 1: loss") == 4
    assert "480 samples delivered" in said
    assert "of the work was saved" in said


def test_ranks_read_each_picture_once(run: Run) -> None:
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2")
    said = run(*torchrun, str(EXAMPLES / "ddp.py"))
    assert "epoch 0: 60 pictures on 2 ranks" in said
    assert "epoch 1: 60 pictures on 2 ranks" in said


def test_an_own_augmentation_gives_tensors(run: Run) -> None:
    said = run(*python("own_augmentation.py"))
    assert "epoch 1: last batch (28, 3, 224, 224)" in said
    assert "prepared=" in said


def test_a_stopped_pass_goes_on_in_another_process(run: Run, tmp_path: Path) -> None:
    assert "stopped after 32 pictures" in run(*python("resume.py"))
    said = run(*python("resume.py"))
    assert "goes on after 32 pictures" in said
    assert "each of 60 pictures was read once" in said
    assert not (tmp_path / "example-checkpoint.pt").exists()


def test_examples_are_short() -> None:
    for path in EXAMPLES.iterdir():
        if path.is_file():
            assert len(path.read_text().splitlines()) < 60, path


def test_five_folds_share(run: Run) -> None:
    said = run(*python("k_fold.py"))
    assert said.count(" of 12 right") == 5
    prepared = sum(int(found) for found in re.findall(r"prepared=(\d+)", said))
    assert prepared < 5 * 2 * 48 * 0.75  # far less than all that was delivered


def test_four_jobs_on_two_nodes_share(run: Run) -> None:
    said = run("sh", str(EXAMPLES / "two_nodes.sh"))
    assert said.count("epoch 1: loss") == 4
    assert "node node1 of 2" in said
    came = re.search(r"([\d,]+) rows .* came from other nodes", said)
    assert came
