"""Arguments in, exit codes out: one line and 2 for what the user got wrong, before any work.

Shells complete every command and option.

Each command has an example that works.
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from joader import __version__
from joader.cli.main import EXAMPLES, main, parser, words_of
from papers.figures.appendix import FIGURES
from tests.cli.command import joader


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["reproduce", "joader-fig4z"], "did you mean 'joader-fig4"),
        (["reproduce", "x"], "`joader reproduce --list` names them all"),
        (["reproduce", "joader-sizes4", "--plot", "a.gif"], ".png or .svg"),
        (["reproduce", "joader-sizes4", "--plot", "/proc/a.png"], "cannot write"),
        (["reproduce", "joader-insert", "--json", "/proc/no.json"], "cannot write"),
        (["reproduce", "joader-insert", "--json", ""], "cannot write"),
        (["demo", "--json", "/proc/no.json"], "cannot write"),
    ],
)
def test_wrong_arguments_get_one_line_and_code_2_before_the_work(
    arguments: list[str],
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("the work started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("papers.reproduce.compute", work)
    monkeypatch.setattr("joader.cli.demo.demo.run", work)
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert word in printed.err
    assert printed.err.count("\n") == 1
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("seed", ["-1", "x", "1.5"])
def test_a_seed_that_is_none_is_refused(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["reproduce", "joader-sizes4", "--seed", seed])
    assert exit_.value.code == 2
    assert "is not a seed" in capsys.readouterr().err


def test_an_interrupt_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("papers.reproduce.compute", interrupted)
    assert main(["reproduce", "joader-sizes4"]) == 130
    assert capsys.readouterr().err == "joader: interrupted\n"


def test_list_names_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in FIGURES)


def test_an_error_in_a_real_process_shows_no_traceback(tmp_path: Path) -> None:
    run = joader("reproduce", "x", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr.startswith("joader: there is no figure 'x'")


def test_the_package_can_be_run_as_a_module(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "joader", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, f"joader {__version__}\n"), run.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_shell_has_closed_is_no_error(closed: str) -> None:
    command = f'"{sys.executable}" -m joader completion bash {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_at_the_other_end_is_said_in_a_line() -> None:
    command = f'"{sys.executable}" -m joader completion bash > /dev/full'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == "joader: cannot write the output: No space left on device\n"
    assert done.returncode == 1


def test_an_error_that_is_not_of_the_output_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> int:
        raise OSError(5, "a disk")

    monkeypatch.setattr("joader.cli.main._run", broken)
    with pytest.raises(OSError, match="a disk"):
        main([])


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
