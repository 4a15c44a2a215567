"""A helper process reads for one that was forked, and says what went wrong as it was."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from joader.errors import ReadFailed
from joader.storage.remote_reader import RemoteReader


class Particular(Exception):
    """An error that cannot be made again from what it says."""

    def __init__(self, code: int, path: str) -> None:
        super().__init__(f"error {code} of {path}")


class Files:
    """What is read."""

    def twice(self, value: bytes) -> bytes:
        return 2 * value

    def fail(self, kind: str) -> None:
        raise {"known": FileNotFoundError(2, "no such object"), "own": Particular(7, "a/b")}[kind]

    def odd(self) -> object:
        return lambda: None

    def end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def reader() -> RemoteReader:
    return RemoteReader()


def test_requests_under_way_together_get_their_own_answers(reader: RemoteReader) -> None:
    with ThreadPoolExecutor(8) as pool:
        values = [b"%d" % n * 1000 for n in range(40)]
        found = list(pool.map(lambda value: reader.call(Files(), "twice", value), values))
    assert found == [2 * value for value in values]


def test_an_error_is_raised_as_it_was(reader: RemoteReader) -> None:
    with pytest.raises(FileNotFoundError, match="no such object"):
        reader.call(Files(), "fail", "known")


def test_what_cannot_travel_is_an_error_too_and_holds_nobody_up(reader: RemoteReader) -> None:
    with pytest.raises(ReadFailed, match="Particular: error 7 of a/b"):
        reader.call(Files(), "fail", "own")
    with pytest.raises(Exception, match="pickle"):
        reader.call(Files(), "odd")
    assert reader.call(Files(), "twice", b"on") == b"onon"


def test_who_waits_for_a_helper_that_dies_is_told_and_so_is_who_comes_later() -> None:
    reader = RemoteReader()
    for _ in range(2):
        with pytest.raises(ReadFailed, match="has exited; try again"):
            reader.call(Files(), "end")
    assert reader.ended
