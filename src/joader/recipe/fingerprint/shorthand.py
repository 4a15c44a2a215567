"""An outline as short text that a checkpoint keeps, to say later what has changed.

Digests are shortened: they only have to differ. Words are left out, because they show the values of
attributes, which may be secret. Only the lines nearest to the object are kept, up to a size limit.
"""

import base64
import json
import sys
import zlib
from typing import Any

from joader.recipe.fingerprint.outline import FORM, Line, Outline, difference

MOST_LINES = 100
MOST_CHARACTERS = 4000
_KEPT = 5  # bytes of a digest
_MOST_WORDS = 80


def shorthand(outline: Outline, *, with_words: bool = False) -> str:
    """Return an outline as text; "" if even the object alone is too large."""
    count = min(len(outline), MOST_LINES)
    while count:
        lines = [
            [
                *(_cut(line.digest).hex(), _cut(line.own).hex(), line.edges),
                *([line.words[:_MOST_WORDS]] if with_words else []),
            ]
            for line in outline[:count]
        ]
        data = json.dumps([FORM, sys.implementation.cache_tag, lines]).encode()
        text = base64.b85encode(zlib.compress(data, 9)).decode()
        if len(text) <= MOST_CHARACTERS:
            return text
        count //= 2
    return ""


def change(before: str, now: Outline) -> str:
    """Return in words what has changed since a shorthand was made; "" if it does not show."""
    tag, kept = _read(before)
    if kept and tag != sys.implementation.cache_tag:
        return f"it was made with {tag}, but this is {sys.implementation.cache_tag}"
    cut = [line._replace(digest=_cut(line.digest), own=_cut(line.own)) for line in now]
    return (difference(kept, cut[: len(kept)]) or "") if kept else ""


def first_difference(one: str, other: str) -> str:
    """Return in words where two shorthands differ first; "" if it does not show."""
    (tag, left), (other_tag, right) = _read(one), _read(other)
    if not left or not right:
        return ""
    if tag != other_tag:
        return f"one runs with {tag}, the other with {other_tag}"
    return difference(left, right) or ""


def _read(text: str) -> tuple[str, Outline]:
    """Return the Python that made a shorthand, and its outline; empty if it cannot be read."""
    try:
        form, tag, lines = json.loads(zlib.decompress(base64.b85decode(text)))
        kept = [_line(*line) for line in lines]
    except (ValueError, TypeError, zlib.error):
        return "", []
    return (tag, kept) if form == FORM or tag != sys.implementation.cache_tag else ("", [])


def _cut(digest: bytes) -> bytes:
    return digest[:_KEPT]


def _line(digest: str, own: str, edges: list[Any], words: str = "") -> Line:
    named = tuple((str(edge), int(number)) for edge, number in edges)
    return Line(bytes.fromhex(digest), bytes.fromhex(own), str(words), named)
