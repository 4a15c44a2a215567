"""PIL images come back exactly: pixels, palette, info."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from joader.memory import gather, pack, read

Image = pytest.importorskip("PIL.Image")

MODES = ["1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB"]
MODES += ["HSV", "I", "F", "I;16", "I;16L", "I;16B", "I;16N"]


def round_trip(image: Any) -> Any:
    parcel = pack(image)
    slot = np.zeros(parcel.layout.size_bytes, np.uint8)
    parcel.write(slot)
    slot.flags.writeable = False
    return read(parcel.layout, slot, allow_pickle=True)


def assert_same(one: Any, other: Any) -> None:
    assert (one.mode, one.size, one.info) == (other.mode, other.size, other.info)
    assert one.tobytes() == other.tobytes()
    assert one.getpalette(None) == other.getpalette(None)
    assert (one.palette and one.palette.mode) == (other.palette and other.palette.mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(37, 11), (1, 1), (0, 3)])
def test_an_image_of_every_mode_comes_back_exactly(mode: str, size: tuple[int, int]) -> None:
    image = Image.new(mode, size)
    count = len(image.tobytes())
    data = np.random.default_rng(0).integers(0, 256, count, np.uint8).tobytes()
    image.frombytes(data)
    image.info["dpi"] = (72, 72)
    assert_same(round_trip(image), image)


@pytest.mark.parametrize("palette_mode", ["RGB", "RGBA", "CMYK"])
@pytest.mark.parametrize("transparency", [None, 3, b"\x00\x80"])
def test_a_palette_keeps_its_mode_and_colours(palette_mode: str, transparency: Any) -> None:
    image = Image.new("P", (4, 4))
    image.putpalette(bytes(range(17 * len(palette_mode))), palette_mode)
    image.frombytes(bytes(range(16)))
    if transparency is not None:
        image.info["transparency"] = transparency
    back = round_trip(image)
    assert_same(back, image)
    if palette_mode != "CMYK":
        assert_same(back.convert("RGBA"), image.convert("RGBA"))


def test_an_opened_file_becomes_the_image_it_holds(tmp_path: Any) -> None:
    gradient = np.arange(12 * 9 * 3, dtype=np.uint8).reshape(9, 12, 3)
    for name in ("a.png", "a.jpg", "a.gif"):
        Image.fromarray(gradient).save(tmp_path / name)
        with Image.open(tmp_path / name) as opened:
            back = round_trip(opened)
            assert type(back) is Image.Image
            assert_same(back, opened)


def test_edits_of_an_image_do_not_reach_the_slot() -> None:
    parcel = pack(Image.new("L", (2, 2), 5))
    slot = np.zeros(parcel.layout.size_bytes, np.uint8)
    parcel.write(slot)
    read(parcel.layout, slot).putpixel((0, 0), 9)
    assert read(parcel.layout, slot).getpixel((0, 0)) == 5


def test_images_come_as_a_list_for_the_callers_collate() -> None:
    parcel = pack((Image.new("L", (2, 2), 5), 1))
    arena = np.zeros(1024, np.uint8)
    parcel.write(arena)
    batch = gather([parcel.layout], arena, [0, 0], tensors=False)
    assert not batch.collated
    assert [label for _, label in batch.data] == [1, 1]


def test_a_reader_imports_pil_only_for_an_image() -> None:
    parcel = pack(Image.new("L", (2, 2), 5))
    slot = np.zeros(parcel.layout.size_bytes, np.uint8)
    parcel.write(slot)
    script = (
        "import sys, numpy as np; from joader.memory import Layout, pack, read;"
        "pack((np.zeros(3), 1)); assert not {'PIL', 'torch'} & set(sys.modules);"
        f"image = read(Layout.from_bytes({parcel.layout.to_bytes()!r}),"
        f" np.frombuffer({slot.tobytes()!r}, np.uint8));"
        "assert image.getpixel((1, 1)) == 5 and 'PIL' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
