"""`joader policy` and weights with a real daemon and a real job, and what is refused."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from joader.cli.main import main
from tests.warm import process as warm

READ = """
import time
import joader
class Rows:
    def __len__(self): return 100_000
    def __getitem__(self, row):
        time.sleep(0.0005)
        return row
loader = joader.DataLoader(Rows(), batch_size=16, num_workers=1, key="rows", job="reader", weight=3)
for number, batch in enumerate(loader):
    time.sleep(0.01)
    if number == 100:
        print("reads", flush=True)
"""


@pytest.fixture
def joader(tmp_path: Path):  # type: ignore[no-untyped-def]
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return warm.run(
            [sys.executable, "-m", "joader.cli.main", *arguments],
            env={**os.environ, "JOADER_RUNTIME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    yield run
    run("down", "--force")


def test_who_gets_what_is_shown_and_changed_on_a_running_daemon(joader, tmp_path) -> None:  # type: ignore[no-untyped-def]
    up = joader("up", "-d", "--memory=32MiB", "--workers=2", "--policy=even", "--cpu=50%")
    assert up.returncode == 0, up.stderr
    script = tmp_path / "read.py"
    script.write_text(READ)
    environment = {**os.environ, "JOADER_RUNTIME": str(tmp_path)}
    job = warm.Process(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert job.stdout is not None
        assert job.stdout.readline() == "reads\n"
        shown = json.loads(joader("policy", "--json").stdout)
        assert (shown["policy"], shown["cpu"]) == ("even", 0.5)
        (its,) = shown["jobs"].values()
        assert (its["weight"], its["share"]) == (3.0, 1.0)
        assert "reserved" in its["reason"]
        # It trains for 10 ms per batch of 16, and what it reads is less by what it waits.
        assert 200 < its["wanted_per_s"] < 1600  # less on a busy machine
        changed = joader("policy", "throughput")
        assert changed.stdout.startswith("policy throughput: 1 workers at a time on 2 cores")
        # The same words on all screens, but for what has changed meanwhile.
        limit = r"(The job (waits|spends) .*%|No job waits for data)"
        assert re.search(rf"\n{limit}", changed.stdout)
        for command in (["policy"], ["explain", "reader", "reader"], ["jobs", "reader"]):
            assert re.search(r"(  |\nlimit +)It (waits|spends) .*%", joader(*command).stdout)
        for command in (["status"], ["top", "--once"]):
            assert re.search(rf"(limit    |\n){limit}", joader(*command).stdout)
        weighed = joader("jobs", "reader", "--weight", "2")
        assert weighed.returncode == 0, weighed.stderr
        assert "weight 2" in weighed.stdout
        status = json.loads(joader("status", "--json").stdout)
        assert status["jobs"][0]["schedule"]["weight"] == 2.0
        assert status["schedule"]["policy"] == "throughput"
        assert "workers (throughput" in joader("explain", "reader", "reader").stdout
        for bad, words in (("nobody", "there is no job 'nobody'"), ("reader", "weight is nan")):
            refused = joader("jobs", bad, "--weight", "nan" if bad == "reader" else "1")
            assert refused.returncode == 2
            assert words in refused.stderr
    finally:
        job.kill()
        job.wait()
        job.stdout.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["policy", "unfair"], "there is no policy 'unfair'; use one of fair, throughput"),
        (["up", "--policy", "unfair"], "there is no policy 'unfair'"),
        (["up", "--cpu", "0"], "write a percentage above 0%"),
        (["up", "--cpu", "0%"], "write a percentage above 0%"),
        (["up", "--cpu", "150%"], "--cpu=150% is not a part of the cores"),
        (["up", "--cpu", "most%"], "--cpu=most% is not a part of the cores"),
        (["jobs", "a", "--weight", "0"], "weight is 0.0; it is a number from 0.001 to 1000"),
        (["jobs", "a", "--weight", "inf"], "weight is inf"),
        (["jobs", "a", "--weight", "heavy"], "weight is 'heavy'"),
        (["jobs", "--weight", "2"], "--weight is for one job"),
    ],
)
def test_what_cannot_be_is_refused_before_a_daemon_is_asked(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert printed.count("\n") == 1
