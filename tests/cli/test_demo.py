"""`joader demo`: real and small, and its parts by themselves."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from joader.cli.console import Console
from joader.cli.demo.pictures import PATTERNS, picture, write_pictures
from joader.cli.demo.processes import (
    Processes,
    adopting_orphans,
    children,
    cpu_seconds,
    orphans_cpu_seconds,
)
from joader.cli.demo.side import JOADER_LINE, TORCH_LINE, Job, Plan, Side, new_side
from joader.cli.demo.table import as_figures, as_table
from joader.cli.main import main
from joader.errors import WorldError

PLAN = Plan(pictures=100, jobs=2, epochs=3)


def ended(name: str, seconds: float, prepared: int) -> Side:
    side = new_side(name, PLAN)
    for job in side.jobs:
        job.hear(f'{{"samples": 300, "seconds": {seconds}, "cpu": 2.0, "loss": 0.5}}')
        job.started = 1.0
    side.prepared, side.daemon_cpu = prepared, 1.0
    return side


def test_a_picture_follows_from_its_number_and_is_named_for_its_class(tmp_path: Path) -> None:
    assert picture(3).tobytes() == picture(3).tobytes() != picture(8).tobytes()
    names = [path.name for path in write_pictures(tmp_path, range(len(PATTERNS)))]
    assert names == ["00000-0.jpg", "00001-1.jpg", "00002-2.jpg", "00003-3.jpg", "00004-4.jpg"]
    assert all((tmp_path / name).read_bytes().startswith(b"\xff\xd8") for name in names)


def test_the_script_has_the_one_line_that_is_changed() -> None:
    import joader.cli.demo.side as side

    script = Path(side.__file__).with_name("train.py").read_text()
    assert script.count(TORCH_LINE) == 1
    assert JOADER_LINE not in script


def test_figures_are_what_the_jobs_said() -> None:
    torch, joader = ended("torch", 6.0, 600), ended("joader", 2.0, 300)
    figures = as_figures(PLAN, 2, [torch, joader])
    assert figures["samples_per_s_ratio"] == 3.0
    ours = figures["sides"]["joader"]
    assert ours["samples_per_s"] == 300.0
    assert ours["cpu_seconds"] == 5.0
    assert ours["prepared_per_delivered"] == 0.5
    assert [job["name"] for job in ours["jobs"]] == ["job 1, lr 0.0005", "job 2, lr 0.001"]


def test_the_table_fits_into_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    Console(width=80).print(as_table(ended("torch", 6.0, 600), ended("joader", 2.0, 300)))
    lines = capsys.readouterr().out.splitlines()
    assert "3.0 ×" in lines[2]
    assert lines[-1].split() == ["prepared", "÷", "delivered", "1.00", "0.50"]
    assert len(lines) == 8  # none is wrapped


def test_a_job_that_has_not_started_has_no_rate() -> None:
    assert Job("a", 10).rate == 0.0


def test_a_process_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.start("bad", ["-c", "raise SystemExit('no room')"]).wait()
    with pytest.raises(WorldError, match="no room"):
        processes.check()
    processes.close()


def test_processes_end_with_their_children(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    script = "import subprocess; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True)\n"
    process = processes.start("parent", ["-c", f"{script}p.wait()"])
    assert process.stdout is not None
    child = int(process.stdout.readline())
    assert cpu_seconds(process.pid) >= 0
    processes.close()
    deadline = time.monotonic() + 10
    while _alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_orphans_used_is_counted(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    others = set(children())
    with adopting_orphans(), closing(Processes(tmp_path)) as processes:
        processes.start("parent", ["-c", leave]).wait()
        assert orphans_cpu_seconds(but=others) >= 0.3
    assert set(children()) <= others


def test_without_torch_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("joader.cli.demo.demo.find_spec", lambda name: None)
    assert main(["demo"]) == 2
    told = capsys.readouterr().err
    assert "make demo" in told
    assert "pip install 'joader[torch,images]'" in told


@pytest.mark.slow
def test_both_sides_train_and_joader_prepares_once_for_both_jobs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    run = _demo(tmp_path, "--json")
    out, err = run.communicate(timeout=240)
    assert run.returncode == 0, err
    sides = json.loads(out)["sides"]
    assert sides["torch"]["prepared"] == sides["torch"]["delivered"] == 160
    assert sides["joader"]["delivered"] == 160
    assert sides["joader"]["prepared"] < 100
    assert "joader status" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    pytest.importorskip("torch")
    run = _demo(tmp_path, "--epochs=10")
    while not any(tally.stat().st_size for tally in tmp_path.glob("*/prepared_joader")):
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)
    assert _mentioning(str(tmp_path))  # daemon, workers and jobs
    run.send_signal(number)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130, err
    assert err == "joader: interrupted\n"
    assert list(tmp_path.iterdir()) == []
    assert not _mentioning(str(tmp_path))


def _demo(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    small = ("--pictures=40", "--jobs=2", "--epochs=2")
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "joader.cli.main", "demo", *small, *arguments],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _mentioning(text: str) -> list[str]:
    """Return processes that have a text in their arguments or work in a folder of that name."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            if text in words or text in os.readlink(process / "cwd"):
                found.append(words)
        except OSError:
            continue
    return found


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
