"""Every example runs as a person runs it: in a clone, with what it leaves behind looked at."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes.jobs import wait_until
from tests.warm import process as warm

EXAMPLES = Path(__file__).parents[2] / "examples"
Run = Callable[..., str]

takes_torch = pytest.mark.slow  # importing torch alone takes seconds


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone, as far as examples can tell."""
    shutil.copytree(EXAMPLES, tmp_path / "clone/examples", ignore=lambda *_: {"__pycache__"})
    return tmp_path / "clone"


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A short TMPDIR: sockets are made in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def environment(tmp_path: Path, scratch: Path) -> dict[str, str]:
    return {
        **os.environ,
        "EXAMPLE_IMAGES": "60",
        "JOADER_RUNTIME": str(tmp_path / "run"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(scratch),
        "PYTHON": sys.executable,
        "PYTHONPATH": "",
    }


def left(*folders: Path) -> list[str]:
    """Return the files and folders below these, except for what Python compiles and torch keeps."""
    found = [path.relative_to(folder) for folder in folders for path in folder.rglob("*")]
    foreign = ("torchinductor_", "torchelastic_")
    found = [path for path in found if not path.parts[0].startswith(foreign)]
    return sorted(str(path) for path in found if "__pycache__" not in path.parts)


@pytest.fixture
def run(clone: Path, environment: dict[str, str], scratch: Path) -> Iterator[Run]:
    pytest.importorskip("torch")
    before = left(clone, scratch)

    def run(*command: str) -> str:
        done = warm.run(
            command,
            cwd=clone,
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
    assert left(clone, scratch) == before


def python(name: str) -> tuple[str, str]:
    return sys.executable, f"examples/{name}"


@takes_torch
def test_a_single_job_trains(run: Run) -> None:
    said = run(*python("single_job.py"))
    assert "epoch 1: loss" in said
    assert "120 samples delivered, 120 prepared" in said


@takes_torch
def test_four_jobs_from_a_shell_loop_share(run: Run) -> None:
    said = run("sh", "examples/four_jobs.sh")
    assert said.count("epoch 1: loss") == 4
    assert "480 samples delivered" in said
    assert "of the work was saved" in said


@takes_torch
def test_ranks_read_each_picture_once(run: Run) -> None:
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2")
    said = run(*torchrun, "examples/ddp.py")
    assert "epoch 0: 60 pictures on 2 ranks" in said
    assert "epoch 1: 60 pictures on 2 ranks" in said


@takes_torch
def test_an_own_augmentation_gives_tensors(run: Run) -> None:
    said = run(*python("own_augmentation.py"))
    assert "epoch 1: last batch (28, 3, 224, 224)" in said
    assert "prepared=" in said


@takes_torch
def test_a_stopped_pass_goes_on_in_another_process(run: Run, tmp_path: Path) -> None:
    assert "stopped after 32 pictures" in run(*python("resume.py"))
    said = run(*python("resume.py"))
    assert "goes on after 32 pictures" in said
    assert "each of 60 pictures was read once" in said
    assert not (tmp_path / "cache/joader-examples/checkpoint.pt").exists()


def test_examples_are_short() -> None:
    for path in EXAMPLES.iterdir():
        if path.is_file():
            assert len(path.read_text().splitlines()) < 75, path


@takes_torch
def test_five_folds_share(run: Run) -> None:
    said = run(*python("k_fold.py"))
    assert said.count(" of 12 right") == 5
    prepared = sum(int(found) for found in re.findall(r"prepared=(\d+)", said))
    assert prepared < 5 * 2 * 48 * 0.75  # far less than all that was delivered


@takes_torch
def test_four_jobs_on_two_nodes_share(run: Run) -> None:
    said = run("sh", "examples/two_nodes.sh")
    assert said.count("epoch 1: loss") == 4
    assert "node node1 of 2" in said
    came = re.search(r"([\d,]+) rows .* came from other nodes", said)
    assert came


def test_the_index_has_every_example_and_each_says_what_to_install() -> None:
    index = (EXAMPLES / "README.md").read_text()
    paths = [path for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh")]
    assert [path.name for path in paths if f"({path.name})" not in index] == []
    started = [path for path in paths if f"examples/{path.name}" in path.read_text()]
    assert len(started) == 11
    assert [path.name for path in started if "Needs: pip install '.[" not in path.read_text()] == []


def test_a_word_that_is_no_folder_shows_how_an_example_is_started(
    clone: Path, environment: dict[str, str]
) -> None:
    pytest.importorskip("PIL")
    pytest.importorskip("torch")
    script = "import sys; sys.argv[1:] = ['--fold']; import example_images; example_images.folder()"
    path = clone / "examples/started.py"
    path.write_text(f'"""How it is started."""\n{script}\n')
    done = warm.run(
        [sys.executable, str(path)], cwd=clone, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "How it is started.\n")
    assert not (clone / "--fold").exists()


STAND_IN = """#!/bin/sh
# Stands in for Python: notes what it is to do, and jobs go on until they are ended.
case "$*" in
*socket*) echo 1 ;;
*secrets*) echo key ;;
*photos*)
    echo "job $JOADER_NODE" >>"$LOG"
    exec sleep 60
    ;;
*joader.cli.main*) echo "$JOADER_NODE $3" >>"$LOG" ;;
esac
"""


@pytest.mark.parametrize("name", ["two_nodes.sh", "ddp_two_nodes.sh"])
def test_a_script_that_is_ended_by_a_signal_ends_its_daemons_and_jobs(
    name: str, clone: Path, environment: dict[str, str], tmp_path: Path, scratch: Path
) -> None:
    stand_in, log, photos = tmp_path / "python", tmp_path / "log", tmp_path / "photos"
    photos.mkdir()
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o700)
    with subprocess.Popen(
        ["sh", f"examples/{name}", photos],
        cwd=clone,
        env={**environment, "PYTHON": str(stand_in), "LOG": str(log)},
    ) as script:
        count = 4 if name == "two_nodes.sh" else 2
        wait_until(lambda: log.exists() and log.read_text().count("job ") == count)
        jobs = Path(f"/proc/{script.pid}/task/{script.pid}/children").read_text().split()
        assert len(jobs) == count
        script.send_signal(signal.SIGTERM)
        assert script.wait(20) == 143
    assert not any(Path(f"/proc/{job}").exists() for job in jobs)
    said = log.read_text().splitlines()
    assert said[:2] == ["node1 up", "node2 up"]
    assert said[-2:] == ["node1 down", "node2 down"]
    assert left(scratch) == []
