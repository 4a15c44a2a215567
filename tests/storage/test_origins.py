"""A picture that cannot be decoded is named by the file it came from."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from joader.errors import BadImage
from joader.images.decode import decode
from joader.storage import open_storage
from joader.storage.origins import _MOST, _noted, note, origin

pytest.importorskip("PIL", reason="what is no picture is refused by Pillow")


def folder(place: Path) -> tuple[Path, str]:
    (place / "cat").mkdir(parents=True)
    (place / "cat" / "bad.jpg").write_bytes(b"\xff\xd8\xff no picture")
    return place, str(place / "cat" / "bad.jpg")


def tar(place: Path) -> tuple[Path, str]:
    place.mkdir()
    with tarfile.open(place / "a.tar", "w") as out:
        info = tarfile.TarInfo("cat/bad.jpg")
        info.size = 14
        out.addfile(info, io.BytesIO(b"\xff\xd8\xff no picture"[:14]))
    return place / "a.tar", f"cat/bad.jpg of {place / 'a.tar'}"


@pytest.mark.parametrize("write", [folder, tar])
def test_a_bad_picture_of_a_storage_is_named(
    write: Callable[[Path], tuple[Path, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "cache"))
    place, name = write(tmp_path / "data")
    with open_storage(place) as storage:
        (body,) = storage.read([0], [storage.sample_columns[0]]).popitem()[1]
        with pytest.raises(BadImage) as raised:
            decode(body)
    assert f"bytes in {name} cannot be decoded" in str(raised.value)


def test_only_the_object_that_was_read_has_an_origin() -> None:
    read = bytes(bytearray(b"some content, read from a file"))
    note([read, None], str, ["a.jpg", "b.jpg"])
    assert origin(read) == "a.jpg"
    assert origin(bytes(bytearray(read))) is None
    assert origin(bytearray(read)) is None


def test_what_was_read_long_ago_is_forgotten() -> None:
    first = bytes(bytearray(b"first"))
    note([first], str, ["first"])
    others = [bytes([number % 251]) * 40 for number in range(_MOST)]
    note(others, str, range(_MOST))
    assert origin(first) is None


def test_what_is_read_again_is_among_the_latest() -> None:
    _noted.clear()
    again = bytes(bytearray(b"read twice"))
    others = [bytes([number % 251]) * 41 for number in range(_MOST - 1)]
    for read, names in ([again], ["old"]), (others, range(_MOST)), ([again], ["new"]):
        note(read, str, names[: len(read)])
    another = bytes(bytearray(b"one more"))
    note([another], str, ["another"])
    assert origin(again) == "new"
