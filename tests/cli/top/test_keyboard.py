"""What a terminal sends becomes keys."""

import os
import threading

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
        ("\x1b[5~\x1b[6~", ["page up", "page down"]),
        ("\x1b[H\x1b[1~\x1bOF", ["home", "home", "end"]),
        # Keys without a meaning are no Escape, and none of their letters is a key.
        ("\x1bOP\x1b[3~\x1b[1;5R\x1b[200~q", ["q"]),
        ("\x1b[<0;12;7M", []),
        ("\x1b[1;5A", []),
        ("\x1b[", []),
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


def test_a_sequence_that_comes_in_two_pieces_is_one_key() -> None:
    ours, terminal = os.pipe()
    slow = threading.Timer(0.001, os.write, [terminal, b"6~s"])
    try:
        os.write(terminal, b"\x1b[")
        slow.start()
        assert Keyboard(ours, rest_s=60.0).pressed(60.0) == ["page down", "s"]
    finally:
        slow.join()
        os.close(terminal)
        os.close(ours)


def test_without_a_terminal_nobody_types() -> None:
    assert Keyboard(-1).pressed(0.0) == []
