"""What a terminal sends becomes keys."""

import os

import pytest

from joader.cli.top.keyboard import Keyboard, keys_in


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("q", ["q"]),
        ("\x1b[A\x1b[B", ["up", "down"]),
        ("\x1bOA", ["up"]),
        ("\x1b", ["escape"]),
        ("\r", ["enter"]),
        ("s\x1b[Br", ["s", "down", "r"]),
        ("\x00\x01", []),
    ],
)
def test_what_a_terminal_sends_becomes_keys(sent: str, keys: list[str]) -> None:
    assert keys_in(sent) == keys


def test_who_waits_for_keys_gets_those_that_come_together() -> None:
    ours, terminal = os.pipe()
    try:
        keyboard = Keyboard(ours)
        assert keyboard.pressed(0.0) == []
        os.write(terminal, b"s\x1b[B")
        assert keyboard.pressed(60.0) == ["s", "down"]
    finally:
        os.close(terminal)
    assert keyboard.pressed(60.0) == ["q"]  # the terminal is gone
    os.close(ours)


def test_without_a_terminal_nobody_types() -> None:
    assert Keyboard(-1).pressed(0.0) == []
