"""`joader demo`: real and small."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from joader.cli.main import main


def test_without_torch_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("joader.cli.demo.demo.find_spec", lambda name: None)
    assert main(["demo"]) == 2
    told = capsys.readouterr().err
    assert "make demo" in told
    assert "pip install '.[torch,images]'" in told


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
