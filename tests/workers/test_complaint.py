"""What user code raised, in words, and its class by name."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from joader.errors import RowFailed
from joader.workers.complaint import (
    MOST_CHARACTERS,
    bounded,
    class_of,
    complaint,
    was_raised,
    without_class,
)


class Outer:
    class Inner(Exception):
        pass


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("its text cannot be had")


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


@pytest.mark.parametrize(
    "kind", [ValueError, FileNotFoundError, Outer.Inner, RowFailed, subprocess.SubprocessError]
)
def test_the_first_line_names_the_class_and_whoever_knows_it_finds_it(kind: type) -> None:
    text = complaint(raised(kind("broken")), "reading the row", "none.py")
    assert text.startswith(f"raised {kind.__module__}:{kind.__qualname__} ")
    assert was_raised(text)
    assert class_of(text) is kind
    read = without_class(text)
    assert read.startswith("reading the row failed in worker process")
    assert read.rstrip().endswith("broken")


def test_a_class_that_is_not_known_here_is_none_and_nothing_is_imported() -> None:
    assert class_of("raised antigravity:Fall\nit fell") is None
    assert "antigravity" not in sys.modules
    assert class_of("raised builtins:NoSuchError\n") is None
    assert class_of("raised tests:made_in.<locals>.Local\n") is None


@pytest.mark.parametrize(
    "reason",
    ["", "raised", "raised \n", "raised :\n", "the worker died (signal 9)", "raised x", "\n\n"],
)
def test_other_reasons_have_no_class(reason: str) -> None:
    assert class_of(reason) is None


@pytest.mark.parametrize("kind", ["int", "open", "None"])
def test_what_is_no_exception_is_no_class(kind: str) -> None:
    assert class_of(f"raised builtins:{kind}\n") is None


def test_a_reason_without_a_class_is_read_as_it_is() -> None:
    assert without_class("the worker died\nIt was at: x") == "the worker died\nIt was at: x"


def test_an_exception_that_cannot_be_shown_is_told_by_its_class() -> None:
    text = complaint(raised(Mute()), "reading the row", "none.py")
    assert class_of(text) is Mute
    assert "Mute" in without_class(text)


def test_the_file_that_an_error_is_about_is_named_also_behind_others() -> None:
    def fails() -> Any:
        try:
            Path("/no/such/file").read_text()
        except OSError as error:
            raise ValueError("no picture") from error

    with pytest.raises(ValueError, match="no picture") as caught:
        fails()
    assert ", on the file /no/such/file:" in complaint(caught.value, "step", "none.py")


def test_long_texts_lose_their_middle_and_endless_recursion_most_of_its_frames() -> None:
    text = bounded("a" * MOST_CHARACTERS + "b" * MOST_CHARACTERS)
    assert len(text) < MOST_CHARACTERS + 100
    assert text.startswith("aaa")
    assert text.endswith("bbb")

    def endless() -> None:
        endless()

    with pytest.raises(RecursionError) as caught:
        endless()
    assert complaint(caught.value, "step", "none.py").count("in endless") < 100


def test_frames_of_our_own_loop_are_left_out() -> None:
    text = complaint(raised(ValueError("x")), "step", __file__)
    assert __file__ not in text
