"""An outline as short text that a checkpoint keeps, to say later what has changed.

Digests are cut: they only have to differ. Words are left out, as they show the values of
attributes, which may be secret. Only what is nearest to the object is kept, as much as is small.
"""

import base64
import json
import sys
import zlib
from typing import Any

from joader.client.fingerprint.outline import FORM, Line, Outline, difference

MOST_LINES = 100
MOST_CHARACTERS = 4000
_KEPT = 5  # bytes of a digest


def shorthand(outline: Outline) -> str:
    """Return an outline as text; "" where even the object alone is too large."""
    count = min(len(outline), MOST_LINES)
    while count:
        lines = [
            [_cut(line.digest).hex(), _cut(line.own).hex(), line.edges] for line in outline[:count]
        ]
        data = json.dumps([FORM, sys.implementation.cache_tag, lines]).encode()
        text = base64.b85encode(zlib.compress(data, 9)).decode()
        if len(text) <= MOST_CHARACTERS:
            return text
        count //= 2
    return ""


def change(before: str, now: Outline) -> str:
    """Say in words what has changed since a shorthand was made; "" where it does not tell."""
    try:
        form, tag, lines = json.loads(zlib.decompress(base64.b85decode(before)))
        kept = [_line(*line) for line in lines]
    except (ValueError, TypeError, zlib.error):
        return ""
    if tag != sys.implementation.cache_tag:
        return f"it was made with {tag} and this is {sys.implementation.cache_tag}"
    if form != FORM or not kept:
        return ""
    cut = [line._replace(digest=_cut(line.digest), own=_cut(line.own)) for line in now]
    return difference(kept, cut[: len(kept)]) or ""


def _cut(digest: bytes) -> bytes:
    return digest[:_KEPT]


def _line(digest: str, own: str, edges: list[Any]) -> Line:
    return Line(
        bytes.fromhex(digest), bytes.fromhex(own), "", tuple((str(e), int(n)) for e, n in edges)
    )
