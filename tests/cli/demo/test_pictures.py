"""Pictures of the demo: the same ones every time."""

from pathlib import Path

from joader.cli.demo.pictures import PATTERNS, picture, write_pictures


def test_a_picture_follows_from_its_number_and_is_named_for_its_class(tmp_path: Path) -> None:
    assert picture(3).tobytes() == picture(3).tobytes() != picture(8).tobytes()
    names = [path.name for path in write_pictures(tmp_path, range(len(PATTERNS)))]
    assert names == ["00000-0.jpg", "00001-1.jpg", "00002-2.jpg", "00003-3.jpg", "00004-4.jpg"]
    assert all((tmp_path / name).read_bytes().startswith(b"\xff\xd8") for name in names)
