"""All commands are alike: each has an example that works, and says what its exit codes mean."""

import subprocess
import sys

import pytest

from joader.cli.main import main


def test_wrong_arguments_are_exit_code_2() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["no-such-command"])
    assert ended.value.code == 2


def loaded(*arguments: str) -> set[str]:
    """Return the modules that a command loads."""
    script = "import sys; from joader.cli.main import main\ntry: main(sys.argv[1:])\n"
    script += "except SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    return set(run.stderr.splitlines()[-1].split())


def test_help_and_status_load_little_and_so_start_at_once(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path))
    assert not loaded("--help") & {"numpy", "msgspec", "asyncio", "torch"}
    heavy = {"torch", "joader.images", "joader.recipe", "joader.workers", "joader.engine"}
    heavy |= {"joader.schedule", "joader.cluster.this_node"}
    assert not loaded("status") & heavy
    assert not loaded("top", "--once") & heavy
