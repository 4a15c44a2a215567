"""The key of a cluster."""

from pathlib import Path

import pytest

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
