"""A terminal gets letters that it has; files and pipes get all of them, whatever the locale."""

import os
import pty
import subprocess
import sys

import pytest

SHOW = """
import sys
from joader.cli.letters import adapt, ascii_only
adapt(sys.stdout)
print(ascii_only(), "4 × 2 ÷ 1 → 8… 字")
"""


def shown(terminal: bool, **locale: str) -> str:
    """Return what a process prints under a locale alone."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    ours, its = pty.openpty() if terminal else os.pipe()
    try:
        # A fresh interpreter: the locale is looked at when it starts.
        subprocess.run([sys.executable, "-c", SHOW], env={**kept, **locale}, stdout=its, check=True)
        return os.read(ours, 4096).decode().strip()
    finally:
        os.close(ours)
        os.close(its)


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LANG": "C"}])
def test_a_terminal_whose_locale_is_plain_gets_letters_that_look_alike(
    locale: dict[str, str],
) -> None:
    assert shown(True, **locale) == "True 4 x 2 / 1 > 8~ ?"


@pytest.mark.parametrize(
    "locale", [{}, {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONUTF8": "1"}, {"LANG": "C.UTF-8"}]
)
def test_a_terminal_with_utf_8_or_without_a_locale_gets_all_letters(
    locale: dict[str, str],
) -> None:
    assert shown(True, **locale) == "False 4 × 2 ÷ 1 → 8… 字"


def test_a_pipe_gets_all_letters_so_that_names_stay_what_they_are() -> None:
    assert shown(False, LC_ALL="C") == "True 4 × 2 ÷ 1 → 8… 字"
