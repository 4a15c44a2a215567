"""`joader bench` with real scripts: it says what limits them, and leaves nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.cli.bench.bench import forget_pages
from joader.cli.bench.meter import Recorded, samples_in
from tests.warm import process as warm

SLOW_DATA = """
import sys, time, torch
from torch.utils.data import DataLoader
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 100000
    def __getitem__(self, row):
        time.sleep({row_s})
        return torch.full((8,), float(row))
assert sys.argv[1:] == ["--epochs", "3"], sys.argv
for batch in DataLoader(Rows(), batch_size=8, shuffle=True, num_workers=1):
    time.sleep({step_s})
"""


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "joader.cli.main", "bench", *arguments],
        cwd=folder,
        env={**os.environ, "JOADER_RUNTIME": str(folder / "run")},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("row_s", "step_s", "bottleneck"), [(0.01, 0.01, True), (0.0, 0.1, False)])
def test_a_script_is_told_what_limits_it(
    tmp_path: Path, row_s: float, step_s: float, bottleneck: bool
) -> None:
    (tmp_path / "train.py").write_text(SLOW_DATA.format(row_s=row_s, step_s=step_s))
    run = bench(tmp_path, "--seconds=2", "--json", "train.py", "--epochs", "3")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    rates = told["rates"]
    assert all(rate is not None for rate in rates.values()), (rates, run.stderr)
    # A batch of eight rows takes one worker 80 ms, and the step 10.
    if not bottleneck:
        # Other processes slow the two ways down by more than 5 % of each other now and then.
        assert told["verdict"]["stall"] < 0.5
    else:
        assert told["verdict"]["bottleneck"]
        assert 60 < rates["fresh"] < 110
        assert rates["synthetic"] > 400
        assert told["verdict"]["stall"] > 0.7
    assert not (tmp_path / "run").exists()  # the user's daemon is left alone


TWO_LOADERS = """
import time, torch
from torch.utils.data import DataLoader
class Rows(torch.utils.data.Dataset):
    def __init__(self, length, row_s): self.length, self.row_s = length, row_s
    def __len__(self): return self.length
    def __getitem__(self, row):
        time.sleep(self.row_s)
        return torch.full((8,), float(row))
class Held(Rows): pass
train = Rows(80_000, 0.01)
held = DataLoader(Held(80, 0.001), batch_size=8)
for epoch in range(1000):
    for number, batch in enumerate(DataLoader(train, batch_size=8, shuffle=True)):
        time.sleep(0.001)
        if number == 20: break  # no pass is ever read to its end
    for batch in held: pass
"""


@pytest.mark.slow
def test_all_loaders_of_a_script_are_measured_also_if_it_leaves_its_passes(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_LOADERS)
    run = bench(tmp_path, "--seconds=1", "--json", "train.py")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert [(one["name"], one["rows"]) for one in told["loaders"]] == [
        ("Rows", 80000),
        ("Held", 80),
    ]
    for one in told["loaders"]:
        assert all(rate is not None for rate in one["rates"].values()), (one, run.stderr)
    rates, held = (one["rates"] for one in told["loaders"])
    assert 40 < rates["fresh"] < 101  # a row takes 10 ms
    assert 100 < held["fresh"] < 1001
    # An epoch is nearly all of the first loader's.
    assert told["rates"]["fresh"] == pytest.approx(rates["fresh"], rel=0.05)


MANY_LOADERS = """
import time, torch
from torch.utils.data import DataLoader
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 400
    def __getitem__(self, row):
        time.sleep(0.001)
        return torch.full((8,), float(row))
loaders = [DataLoader(type(f"Rows{n}", (Rows,), {})(), batch_size=8) for n in range(5)]
for epoch in range(1000):
    for loader in loaders:
        for batch in loader: pass
"""


@pytest.mark.slow
def test_loaders_that_are_too_many_to_measure_are_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MANY_LOADERS)
    run = bench(tmp_path, "--seconds=0.5", "--json", "train.py")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert [one["name"] for one in told["loaders"]] == ["Rows0", "Rows1", "Rows2"]
    assert told["left_out"] == ["Rows3", "Rows4"]


@pytest.mark.slow
def test_a_script_that_uses_joader_already_is_measured(tmp_path: Path) -> None:
    script = TWO_LOADERS.replace("from torch.utils.data import", "from joader import")
    (tmp_path / "train.py").write_text(script)
    run = bench(tmp_path, "--seconds=0.5", "--json", "train.py")
    assert run.returncode == 0, run.stderr
    rates = json.loads(run.stdout)["loaders"][0]["rates"]
    assert all(rate is not None for rate in rates.values()), (rates, run.stderr)


@pytest.mark.slow
def test_a_dataset_is_read_without_a_script(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    rows = pa.table({"text": [f"row {n}" for n in range(5000)]})
    parquet.write_table(rows, tmp_path / "t.parquet")
    run = bench(tmp_path, "t.parquet", "--json", "--seconds", "1")
    assert run.returncode == 0, run.stderr
    rates = json.loads(run.stdout)["rates"]
    assert rates["fresh"] > 100
    assert rates["synthetic"] is None


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    assert "there is no script" in bench(tmp_path, "nothing.py").stderr
    assert bench(tmp_path, "nothing.py").returncode == 2
    (tmp_path / "x.py").write_text("")
    assert "does not exist" in bench(tmp_path, "--data=nowhere", "x.py").stderr
    assert bench(tmp_path, "--seconds=0", "x.py").returncode == 2


@pytest.mark.slow
def test_a_script_that_reads_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("print('nothing to do')")
    run = bench(tmp_path, "--seconds=1", "x.py")
    assert run.returncode == 1
    assert "ended before enough of its batches" in run.stdout


@pytest.mark.parametrize(
    ("batch", "count"),
    [
        (np.zeros((4, 3)), 4),
        ((np.zeros((4, 3)), np.zeros(4)), 4),
        ({"image": np.zeros((5, 2)), "label": 1}, 5),
        ([[np.zeros((6, 1))], 7], 6),
        (["a", "b", "c"], 3),
        (np.float64(1.0), 1),
        (7, 1),
    ],
)
def test_samples_of_a_batch_are_counted(batch: Any, count: int) -> None:
    assert samples_in(batch) == count


def test_rows_of_the_first_seconds_come_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joader.cli.bench.meter.WARM_S", 0.0)
    batches = iter(Recorded([[1, 2], [3, 4], [5, 6]]))
    assert [next(batches) for _ in range(4)] == [[1, 2]] * 4
    monkeypatch.setattr("joader.cli.bench.meter.WARM_S", 60.0)
    batches = iter(Recorded([[1, 2], [3, 4]]))
    assert [next(batches) for _ in range(5)] == [[1, 2], [3, 4], [1, 2], [3, 4], [1, 2]]


def test_pages_are_forgotten_and_data_stays(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    forget_pages(tmp_path)
    assert (tmp_path / "a").read_bytes() == b"x" * 100_000
