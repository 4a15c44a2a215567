"""The log stays short, and whoever writes to it goes on."""

import os
from pathlib import Path

from joader.daemon.log_size import keep_short


def test_a_long_log_keeps_its_last_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as log, path.open("ab", buffering=0) as worker:
        log.write(b"".join(b"line %04d\n" % number for number in range(1000)))
        keep_short(log.fileno(), 20_000, 100)
        assert path.stat().st_size == 10_000
        keep_short(log.fileno(), 5_000, 100)
        worker.write(b"from a worker\n")
        log.write(b"and on\n")
    first, *lines = path.read_text().splitlines()
    assert first == "[joader: 9910 bytes of older lines were cut]"
    assert lines == [f"line {number:04d}" for number in range(991, 1000)] + [
        "from a worker",
        "and on",
    ]


def test_what_is_not_opened_for_appending_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb", buffering=0) as log:
        log.write(b"x" * 1000)
        keep_short(log.fileno(), 10, 5)
    assert path.stat().st_size == 1000
    ours, theirs = os.pipe()
    keep_short(theirs)
    os.close(ours)
    os.close(theirs)
