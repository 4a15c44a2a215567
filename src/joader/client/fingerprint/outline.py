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
_CUT = "…"  # the path of a line that says that there is more
_NO_LINE = ("", "")


def fingerprint(thing: Any, *, name: str = "dataset") -> str:
    """Return the name of what an object is, the same in every process; errors call it `name`."""
    root = Walk(thing, name).digests().whole[0]
    return digest_of(label("joader", FORM, sys.implementation.cache_tag), [root]).hex()


def outline(thing: Any, *, name: str = "dataset", max_lines: int | None = None) -> Outline:
    """Return what a fingerprint was made of, the parts nearest to the object first."""
    walk = Walk(thing, name)
    found = walk.digests()
    lines: Outline = {name: (found.whole[0].hex(), walk.parts[0].words)}
    paths: list[str | None] = [name]
    for number, (parent, edge) in enumerate(walk.origins[1:], 1):
        if max_lines is not None and len(lines) >= max_lines:
            lines[_CUT] = ("", "")
            break
        above = paths[parent]
        # Elements of a set have no names, nor has what is below them.
        path = None if above is None or walk.parts[parent].unordered else above + edge
        paths.append(path)
        if path is not None:
            lines.setdefault(path, (found.apart[number].hex(), walk.parts[number].words))
    return lines


def difference(one: Outline, other: Outline) -> str | None:
    """Say in words at which path two outlines differ first, or None where they do not."""
    is_cut = _CUT in one or _CUT in other
    paths = [
        path
        for path in {**one, **other}
        if one.get(path, _NO_LINE)[0] != other.get(path, _NO_LINE)[0]
        and not (is_cut and (path not in one or path not in other))
    ]
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
