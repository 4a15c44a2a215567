"""What is wrong with arguments is one sentence that says what to do, and exit code 2."""

import pytest

from joader.cli.main import main, parser, words_of

COMMANDS = sorted(words_of(parser()))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what is said of arguments that are wrong."""
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert said.err.startswith("joader: ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_a_command_does_not_know_is_named_with_its_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = {"explain": ["a", "b"], "bench": ["data"], "completion": ["bash"]}.get(name, [])
    said = refused(capsys, name, *needed, "--no-such-option")
    assert "unrecognized arguments: --no-such-option" in said
    assert f"`joader {name} --help`" in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "COMMAND; `joader --help`"),
        ("nothing", "'nothing'"),
        ("up --workers 0", "use an integer of at least 1"),
        ("up --memory 12", "--memory=12 is too small: give at least"),
        ("up --memory lots", "write 8GiB or 500MB"),
        ("up --wait never", "use seconds above 0"),
        ("up --wait nan", "use seconds above 0"),
        ("up --nodes -3", "use an integer of at least 1"),
        ("up --policy greedy", "use one of fair"),
        ("up --cpu 300%", "up to 100%"),
        ("down now", "unrecognized arguments: now; `joader down --help`"),
        ("explain 1", "`joader explain --help`"),
        ("datasets show", "NAME; `joader datasets show --help`"),
        ("datasets show a b", "`joader datasets show --help`"),
        ("bench", "required: DATASET_OR_SCRIPT; `joader bench --help`"),
        ("bench nothing.py", "there is no script 'nothing.py'"),
        ("bench nothing", "there is no table 'nothing'"),
        ("bench . --seconds 0", "use seconds above 0"),
        ("profile --seconds 0", "use seconds above 0"),
        ("dashboard --port 99999", "'99999' is not a port"),
        ("dashboard --port 1", "'1' is not a port; use 1024 to 65535"),
        ("dashboard --port x", "'x' is not a port"),
        ("dashboard --save run.gif", "give a file name with one of them"),
        ("jobs --weight 2", "name it: joader jobs NAME --weight 2"),
        ("simulate", "give a workload file or --random"),
        ("completion csh", "'bash', 'zsh', 'fish'"),
    ],
)
def test_each_mistake_is_said_with_what_to_do(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, *line.split())
