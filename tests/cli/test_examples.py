"""Each command has an example that works."""

import shlex

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
