"""All commands are alike: each has an example that works, and says what its exit codes mean."""

import argparse
import shlex
import subprocess
import sys

import pytest

from joader.cli.completion import words_of
from joader.cli.examples import EXAMPLES
from joader.cli.main import main, parser

# Of others; each brings its example with it.
COMMANDS = sorted(words_of(parser()))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_shows_an_example_and_exit_codes(name: str, capsys) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "exit codes: 0 done" in text
    assert f"example:\n  {EXAMPLES[name].splitlines()[0]}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_can_be_parsed(name: str) -> None:
    for line in EXAMPLES[name].splitlines():
        words = shlex.split(line.strip())
        if words[0] == "joader":
            end = next((at for at, word in enumerate(words) if word in ("|", "||")), len(words))
            parser().parse_args(words[1:end])


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


def test_completion_knows_every_command_and_option() -> None:
    words = words_of(parser())
    assert {"--memory", "--detach", "-d", "--log-format", "--help"} <= set(words["up"])
    assert {"create", "show", "--json"} <= set(words["datasets"])
    subparsers = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert set(words) == set(subparsers.choices)


def test_bash_completes_commands_and_options(capsys) -> None:  # type: ignore[no-untyped-def]
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    ask = 'COMP_WORDS=(joader {}); COMP_CWORD={}; _joader; echo "${{COMPREPLY[@]}}"'
    asked = "\n".join([script, ask.format("da", 1), ask.format("up --mem", 2)])
    run = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["dashboard", "datasets", "--memory"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_theirs(shell: str, capsys) -> None:  # type: ignore[no-untyped-def]
    assert main(["completion", shell]) == 0
    assert "dashboard" in capsys.readouterr().out
