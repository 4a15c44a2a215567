"""An object's graph as one digest, or as lines that can be compared.

An outline is small plain data, so a daemon can keep it and say why two jobs do not share although
each of them knows only its own dataset. `look` works for every object; the others raise if
something in it cannot be compared.
"""

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from joader.errors import BadArgument
from joader.recipe.fingerprint.graph import digest_of, label
from joader.recipe.fingerprint.memory import Memory
from joader.recipe.fingerprint.walk import Walk

# Goes up whenever the same object would get another fingerprint: old ones then match nothing.
FORM = 2


class Line(NamedTuple):
    """One object of an outline."""

    digest: bytes  # of the object with everything below it
    own: bytes  # of the object alone; of a set, whose elements have no names, with its elements
    words: str
    edges: tuple[tuple[str, int], ...]  # to which lines, by what name


Outline: TypeAlias = list[Line]  # the object itself first, then the nearest


@dataclass(frozen=True)
class Look:
    """What was seen of an object at one time."""

    name: str  # its fingerprint; equal to no other if something is opaque
    outline: Outline
    opaque: str  # what could not be compared, where it is and what to do; "" if all could


def look(
    thing: Any,
    *,
    name: str = "dataset",
    max_lines: int | None = None,
    memory: Memory | None = None,
) -> Look:
    """Look at an object as it is now.

    Paths begin with `name`; the `max_lines` nearest lines of the outline are kept. With `memory`,
    one per object, another look at the same object is quick and gives the same result.
    """
    walk = Walk(thing, name, memory)
    if memory is not None:
        memory.end_look()
    lines = _lines(walk, max_lines)
    return Look(name_of(lines), lines, walk.opaque)


def fingerprint(thing: Any, *, name: str = "dataset") -> str:
    """Return the fingerprint of an object, the same in every process; errors call it `name`."""
    return _name(_complete(thing, name).digests()[0])


def name_of(outline: Outline) -> str:
    """Return the fingerprint of the object that an outline describes."""
    return _name(outline[0].digest)


def outline(thing: Any, *, name: str = "dataset", max_lines: int | None = None) -> Outline:
    """Return what a fingerprint is made of; with `max_lines`, only the nearest lines."""
    return _lines(_complete(thing, name), max_lines)


def _complete(thing: Any, name: str) -> Walk:
    walk = Walk(thing, name)
    if walk.opaque:
        raise BadArgument(walk.opaque)
    return walk


def _name(root: bytes) -> str:
    return digest_of(label("joader", FORM, sys.implementation.cache_tag), [root]).hex()


def _lines(walk: Walk, max_lines: int | None) -> Outline:
    lines: Outline = []
    for digest, part, children in zip(walk.digests(), walk.parts, walk.children, strict=True):
        if len(lines) == max_lines:
            break
        names = () if part.unordered else tuple(edge for edge, _ in part.edges)
        own = digest if part.unordered else digest_of(part.label)
        lines.append(Line(digest, own, part.words, tuple(zip(names, children, strict=False))))
    return lines


def difference(one: Outline, other: Outline, *, name: str = "dataset") -> str | None:
    """Return in words at which path two outlines differ first, or None if they do not."""
    if one[0].digest == other[0].digest:
        return None
    met = {(0, 0)}
    todo = [(0, 0, name)]
    nearest = ""  # the first path whose children were cut off by `max_lines`
    for left, right, path in todo:  # grows during the iteration
        line, other_line = one[left], other[right]
        if line.digest == other_line.digest:
            continue
        if line.own != other_line.own:
            return _in_words(path, line, other_line)
        for (edge, left_child), (_, right_child) in zip(line.edges, other_line.edges, strict=True):
            if left_child >= len(one) or right_child >= len(other):
                nearest = nearest or path
            elif (left_child, right_child) not in met:
                met.add((left_child, right_child))
                todo.append((left_child, right_child, path + edge))
    return f"{nearest or name} differs in what is below it"


def explain(one: Any, other: Any, *, name: str = "dataset") -> str | None:
    """Return in words at which path two objects differ first; None if their fingerprints agree."""
    return difference(outline(one, name=name), outline(other, name=name), name=name)


def _in_words(path: str, line: Line, other: Line) -> str:
    if line.words and line.words != other.words:
        return f"{path} differs: {line.words} and {other.words}"
    only = {edge for edge, _ in line.edges} ^ {edge for edge, _ in other.edges}
    if only:
        return f"{path}{min(only)} is in one only"
    if not line.words and other.words:  # of an outline whose words were not kept
        return f"{path} differs, it is now {other.words}"
    return f"{path} differs: both are {line.words}" if line.words else f"{path} differs"
