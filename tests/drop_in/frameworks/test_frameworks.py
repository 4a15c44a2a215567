"""Frameworks on top of a loader give with joader's what they give with torch's.

`make test-frameworks` installs the packages; a test whose package is missing is skipped.
"""

import importlib.util
from pathlib import Path

import pytest

from tests.drop_in.harness import Idiom, play

SCRIPTS = Path(__file__).parent / "scripts"
FORK = ("fork",)


def framework(name: str, *packages: str, starts: tuple[str, ...] = FORK, apart: bool = False):
    idiom = Idiom(name, starts, timeout_s=240, apart=apart, scripts=SCRIPTS)
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    reason = f"{', '.join(missing)} not installed: make test-frameworks"
    marks = [pytest.mark.skipif(bool(missing), reason=reason)]
    return [pytest.param(idiom, start, id=f"{name}-{start}", marks=marks) for start in starts]


CASES = [
    *framework("notebook", "nbclient", "ipykernel"),
    *framework("lightning_fit", "lightning"),
    *framework("lightning_spawn", "lightning", apart=True),
    *framework("accelerate_prepare", "accelerate"),
    *framework("hf_trainer", "transformers", "accelerate"),
    *framework("hf_datasets", "datasets", starts=("fork", "forkserver", "spawn")),
    *framework("ignite_engine", "ignite"),
    *framework("h5_file", "h5py", starts=("fork", "forkserver", "spawn")),
]


@pytest.mark.frameworks
@pytest.mark.parametrize(("idiom", "start"), CASES)
def test_a_framework_gets_what_torch_gives(idiom: Idiom, start: str, tmp_path: Path) -> None:
    complaint = play(idiom, start, tmp_path).complaint()
    if complaint:
        pytest.fail(complaint, pytrace=False)
