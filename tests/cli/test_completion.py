"""Shells complete every command and option."""

import argparse
import subprocess

import pytest

from joader.cli.completion import words_of
from joader.cli.main import main, parser


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
