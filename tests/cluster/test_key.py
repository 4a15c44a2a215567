"""The key of a cluster."""

import os
from pathlib import Path
from typing import Any

import pytest

from joader import config
from joader.cluster.key import key, key_path, proof
from joader.errors import BadArgument, NoData


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("JOADER_CLUSTER_KEY", raising=False)


def test_the_leader_makes_a_key_that_only_its_user_can_read() -> None:
    made = key(create=True)
    assert len(made) == 64
    assert key_path().stat().st_mode & 0o777 == 0o600
    assert key() == made == key(create=True)


def test_without_a_key_others_say_where_to_get_it() -> None:
    with pytest.raises(NoData, match="copy that file from the node that leads"):
        key()


def test_a_variable_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    key(create=True)
    monkeypatch.setenv("JOADER_CLUSTER_KEY", "0123456789abcdef")
    assert key() == b"0123456789abcdef"


def test_a_short_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOADER_CLUSTER_KEY", "secret")
    with pytest.raises(BadArgument, match="has 6 letters; use 16 or more"):
        key()


def test_a_file_that_others_can_read_is_refused() -> None:
    key(create=True)
    key_path().chmod(0o644)
    with pytest.raises(BadArgument, match="chmod 600"):
        key()


def test_a_file_that_is_not_text_is_refused() -> None:
    key(create=True)
    key_path().write_bytes(bytes(range(128, 160)))
    with pytest.raises(BadArgument, match="is not text"):
        key()


def test_proofs_differ_by_side_and_by_what_was_said() -> None:
    shown = {
        proof(b"k", who, *parts) for who in (b"a", b"b") for parts in ((b"x", b"yz"), (b"xy", b"z"))
    }
    assert len(shown) == 4


def test_a_key_is_there_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another leader of the same home comes while the first one writes."""
    first, write = [True], config.write_private

    def write_late(*given: Any, **more: Any) -> None:
        if first.pop() if first else False:
            others.append(key(create=True))
        write(*given, **more)

    others: list[bytes] = []
    monkeypatch.setattr("joader.cluster.key.write_private", write_late)
    assert key(create=True) == others[0] == key()
    assert [path.name for path in key_path().parent.iterdir()] == ["cluster.key"]


def test_while_a_key_is_written_others_see_none(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    link = os.link

    def look(*given: Any, **more: Any) -> None:
        seen.append(key_path().exists())
        link(*given, **more)

    monkeypatch.setattr(os, "link", look)
    key(create=True)
    assert seen == [False]


def test_a_folder_that_takes_no_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc")
    with pytest.raises(BadArgument, match=r"cannot write the cluster's key to /proc/.*; set JOAD"):
        key(create=True)
