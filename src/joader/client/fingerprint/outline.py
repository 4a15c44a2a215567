"""What is known of an object's graph, as one digest or as lines that can be compared.

An outline is small plain data, so a daemon can keep it and say why two jobs do not share although
each of them knows only its own dataset.
"""

import sys
from typing import Any, TypeAlias

from joader.client.fingerprint.graph import digest_of, label
from joader.client.fingerprint.walk import Walk

# Goes up whenever the same object would get another fingerprint: old ones then match nothing.
FORM = 1

# By path, nearest first: the digest of what is there, and a few words about it.
Outline: TypeAlias = dict[str, tuple[str, str]]


def fingerprint(thing: Any, *, name: str = "dataset") -> str:
    """Return the name of what an object is, the same in every process; errors call it `name`."""
    root = Walk(thing, name).digests().whole[0]
    return digest_of(label("joader", FORM, sys.implementation.cache_tag), [root]).hex()


def outline(thing: Any, *, name: str = "dataset", max_lines: int | None = None) -> Outline:
    """Return what a fingerprint was made of, the parts nearest to the object first."""
    walk = Walk(thing, name)
    found = walk.digests()
    lines: Outline = {name: (found.whole[0].hex(), walk.parts[0].words)}
    for number, part in enumerate(walk.parts):
        if max_lines is not None and len(lines) >= max_lines:
            break
        if walk.is_named(number):
            lines.setdefault(walk.path(number), (found.apart[number].hex(), part.words))
    return lines


def difference(one: Outline, other: Outline) -> str | None:
    """Say in words at which path two outlines differ first, or None where they do not."""
    paths = [path for path in {**one, **other} if _digest(one, path) != _digest(other, path)]
    if not paths:
        return None
    here = paths[0]
    for path in paths:  # a line comes after the line it is below
        if path.startswith(here) and path[len(here) : len(here) + 1] in {".", "[", "("}:
            here = path
    if here not in one or here not in other:
        return f"{here} is in one only: {(one.get(here) or other[here])[1]}"
    words, other_words = one[here][1], other[here][1]
    if words == other_words:
        return f"{here} differs: both are {words}" if words else f"{here} differs"
    return f"{here} differs: {words} and {other_words}"


def explain(one: Any, other: Any, *, name: str = "dataset") -> str | None:
    """Say in words at which path two objects differ first; None where their fingerprints agree."""
    return difference(outline(one, name=name), outline(other, name=name))


def _digest(lines: Outline, path: str) -> str | None:
    return lines[path][0] if path in lines else None
