"""Encoded images of every kind, made with Pillow, and what Pillow makes of them."""

import io
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]


def noise(height: int, width: int, seed: int = 0) -> Pixels:
    """All levels, no order: the hardest case for rounding."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


def scene(height: int = 45, width: int = 67, seed: int = 0) -> Image.Image:
    """Soft shapes, as in a photo."""
    coarse = Image.fromarray(noise(5, 7, seed))
    return coarse.resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def jpeg(height: int = 45, width: int = 67, **options: Any) -> bytes:
    return encoded(scene(height, width), "JPEG", **options)


def by_pillow(body: bytes) -> Pixels:
    """What `convert("RGB")` gives."""
    with Image.open(io.BytesIO(body)) as image:
        image.load()
        image.info.pop("transparency", None)  # changes no pixel; Pillow would warn
        return np.array(image.convert("RGB"))


def oriented(format: str, orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(scene(), format, exif=exif)


def every_kind() -> dict[str, bytes]:
    """Kinds that decode as in Pillow."""
    photo = scene()
    palette = photo.convert("P")
    return {
        "JPEG 4:2:0": encoded(photo, "JPEG", subsampling=2),
        "JPEG 4:4:4": encoded(photo, "JPEG", subsampling=0),
        "JPEG 4:2:2": encoded(photo, "JPEG", subsampling=1),
        "JPEG progressive": encoded(photo, "JPEG", progressive=True),
        "JPEG grey": encoded(photo.convert("L"), "JPEG"),
        "JPEG CMYK": encoded(photo.convert("CMYK"), "JPEG"),
        "JPEG stored as RGB": encoded(photo, "JPEG", keep_rgb=True),
        "JPEG with bytes after its end": encoded(photo, "JPEG") + b"\0" * 64,
        "JPEG with restart markers": encoded(photo, "JPEG", restart_marker_rows=1),
        "PNG": encoded(photo, "PNG"),
        "PNG black and white": encoded(photo.convert("1"), "PNG"),
        "PNG grey": encoded(photo.convert("L"), "PNG"),
        "PNG grey with a transparent level": encoded(photo.convert("L"), "PNG", transparency=9),
        "PNG grey and alpha": encoded(photo.convert("LA"), "PNG"),
        "PNG RGBA": encoded(with_alpha(photo), "PNG"),
        "PNG palette": encoded(palette, "PNG"),
        "PNG palette, one transparent": encoded(palette, "PNG", transparency=3),
        "PNG palette, all with alpha": encoded(palette, "PNG", transparency=bytes(range(256))),
        "PNG interlaced": interlaced(),
        "WebP lossy": encoded(photo, "WEBP"),
        "WebP lossless": encoded(photo, "WEBP", lossless=True),
        "WebP with alpha": encoded(with_alpha(photo), "WEBP", lossless=True),
        "GIF": encoded(palette, "GIF"),
        "BMP": encoded(photo, "BMP"),
    }


def with_alpha(photo: Image.Image) -> Image.Image:
    result = photo.convert("RGBA")
    result.putalpha(photo.convert("L"))
    return result


def png(width: int, height: int, bits: int, color: int, data: bytes, interlace: int = 0) -> bytes:
    """A PNG written by hand: what Pillow cannot write."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlace)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(data)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def interlaced() -> bytes:
    """Adam7: seven passes, each a coarse image of its own."""
    pixels = noise(11, 13)
    data = bytearray()
    for top, left, down, right in (
        *((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4)),
        *((2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)),
    ):
        part = pixels[top::down, left::right]
        for row in part if part.shape[1] else ():
            data += b"\0" + row.tobytes()
    return png(13, 11, 8, 2, bytes(data), interlace=1)


def deep_color(levels: NDArray[np.uint16]) -> bytes:
    """A PNG of 16-bit RGB."""
    height, width, _ = levels.shape
    rows = (b"\0" + row.astype(">u2").tobytes() for row in levels)
    return png(width, height, 16, 2, b"".join(rows))
