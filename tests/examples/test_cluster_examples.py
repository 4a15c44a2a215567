"""Examples on several nodes, as they are; `make test-cluster` has Ray for those that need it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.slow


def run(tmp_path: Path, name: str, *words: str) -> str:
    pytest.importorskip("torch")
    if name.startswith("ray") or "--ray" in words:
        pytest.importorskip("ray", reason="Ray is not installed; `make test-cluster` installs it")
        pytest.importorskip("pandas", reason="ray[train,tune] is not installed")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *words],
        cwd=tmp_path,
        env={**os.environ, "EXAMPLE_IMAGES": "600", "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("words", [(), ("--ray",)])
def test_torchrun_on_two_nodes(tmp_path: Path, words: tuple[str, ...]) -> None:
    said = run(tmp_path, "torchrun_nodes.py", str(tmp_path / "photos"), *words)
    assert [int(n) for n in re.findall(r"epoch \d: (\d+) pictures", said)] == [600] * 3
    assert int(re.findall(r"epoch 2: 600 pictures, (\d+) prepared", said)[0]) < 300
    assert re.search(r"[1-9][\d,]* rows .* came from other nodes", said)


def test_ray_train_on_three_nodes(tmp_path: Path) -> None:
    said = run(tmp_path, "ray_train.py", str(tmp_path / "photos"))
    assert {int(n) for n in re.findall(r"epoch \d: (\d+) pictures", said)} == {600}
    # Each rank reads what its node has: rows are compared, and hardly any come from other nodes.
    assert int(re.findall(r"epoch 2: 600 pictures, (\d+) prepared, 3 ranks", said)[0]) < 300
    assert len(re.findall(r"node\d .* (?:linked|this one)", said)) == 3


def test_eight_trials_of_ray_tune_on_three_nodes(tmp_path: Path) -> None:
    said = run(tmp_path, "ray_tune.py", str(tmp_path / "photos"))
    delivered, prepared = re.findall(r"8 trials: (\d+) samples delivered, (\d+) prepared", said)[0]
    assert int(delivered) == 8 * 2 * 600
    assert int(prepared) < 0.25 * int(delivered)  # trials start one after the other
