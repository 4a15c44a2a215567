"""Sizes as people write them, and places that cannot be."""

import os
import resource
from pathlib import Path

import pytest

from joader.config import (
    cache_folder,
    runtime_folder,
    size_in_bytes,
    socket_path,
    write_private,
)
from joader.errors import BadArgument


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("8GiB", 8 * 2**30),
        ("8gib", 8 * 2**30),
        ("500MB", 500_000_000),
        ("1.5g", 1_500_000_000),
        ("64 KiB", 64 * 2**10),
        ("1t", 10**12),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "x", "-1GiB", "8 furlongs", "GiB", "0", "nan", "0.5", "1e400", "infinityk", "-inf", "inf"],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="is not a size"):
        size_in_bytes(text)


def test_a_socket_path_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path / ("x" * 120)))
    with pytest.raises(BadArgument, match="too long"):
        socket_path()


def test_the_folder_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_RUNTIME", str(tmp_path / "run"))
    assert socket_path() == tmp_path / "run" / "daemon.sock"
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


def test_relative_places_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOADER_RUNTIME", "run")
    monkeypatch.setenv("JOADER_CACHE", "cache")
    assert runtime_folder() == tmp_path / "run"
    assert socket_path() == tmp_path / "run" / "daemon.sock"
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.setenv("JOADER_ADDRESS", "my.sock")
    assert socket_path() == tmp_path / "my.sock"


@pytest.mark.parametrize("session", ["missing", "of another user", "relative"])
def test_a_session_folder_that_is_of_no_use_is_not_used(
    session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relative").mkdir()
    places = {"missing": tmp_path / "gone", "of another user": Path("/proc/sys"), "relative": ""}
    if session == "of another user" and os.getuid() == 0:
        foreign = tmp_path / "foreign"
        foreign.mkdir()
        os.chown(foreign, 12345, 12345)
        places[session] = foreign
    monkeypatch.delenv("JOADER_RUNTIME", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(places[session] or "relative"))
    assert runtime_folder() == Path(f"/tmp/joader-{os.getuid()}")
    assert not (tmp_path / "gone").exists()


def test_the_session_folder_is_used_where_it_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JOADER_RUNTIME", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime_folder() == tmp_path / "joader"


def test_a_disk_that_is_full_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_private(path, b"before")
    assert path.stat().st_mode & 0o777 == 0o600
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_private(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [(path.name, b"before")]


def test_of_several_writers_one_is_first(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"first", replace=False)
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "key", b"second", replace=False)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"first"]
