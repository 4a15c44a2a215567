"""`joader completion SHELL`: what a shell needs to complete commands and options.

Made from the parser, so it never lacks a command; one function that all three shells call.
"""

import argparse
import sys

from joader.cli.console import write

SHELLS = ("bash", "zsh", "fish")

_BASH = """_joader() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$word")); return
  fi
  case "$command" in
{cases}
  esac
  if [[ "$word" != -* && ${{#COMPREPLY[@]}} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _joader joader
"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + _BASH


def completion(shell: str, parser: argparse.ArgumentParser) -> int:
    """Print it."""
    words = words_of(parser)
    write(_fish(words) if shell == "fish" else _like_bash(shell, words), sys.stdout)
    return 0


def words_of(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return the options and actions of each command."""
    found = {}
    for name, command in _commands(parser).items():
        options = [option for action in command._actions for option in action.option_strings]
        found[name] = [*_commands(command), *sorted(set(options) - {"-h"})]
    return found


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _like_bash(shell: str, words: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(options)}" -- "$word"));;'
        for name, options in words.items()
    )
    text = _ZSH if shell == "zsh" else _BASH
    return text.format(commands=" ".join(words), cases=cases)


def _fish(words: dict[str, list[str]]) -> str:
    lines = ["complete -c joader -n __fish_use_subcommand -f -a '" + " ".join(words) + "'"]
    for name, options in words.items():
        for option in options:
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-a {option}"
            if option.startswith("-") and not option.startswith("--"):
                kind = f"-s {option[1:]}"
            lines.append(f"complete -c joader -n '__fish_seen_subcommand_from {name}' {kind}")
    return "\n".join(lines) + "\n"
