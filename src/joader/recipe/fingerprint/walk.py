"""All objects that an object leads to, each taken apart once.

Nearest first, so that an object reached in two ways is named by the shorter path. Ids distinguish
objects only while both are alive; the edges of the parts keep every object met alive until the end.

An object that cannot be inspected gets random bytes: the graph then equals no other, not even that
of the next walk through the same objects. The reason is kept in `opaque`.
"""

import os
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any

from joader.errors import JoaderError
from joader.recipe.fingerprint.anatomy import take_apart
from joader.recipe.fingerprint.bulk import SCALARS
from joader.recipe.fingerprint.graph import DIGEST_BYTES, Opaque, Part, digests, label
from joader.recipe.fingerprint.memory import Memory
from joader.recipe.fingerprint.program import LibraryNames
from joader.recipe.fingerprint.sources import read_anew
from joader.recipe.fingerprint.switches import changed_switches

_RUNNING = (GeneratorType, AsyncGeneratorType, CoroutineType, FrameType)


class Walk:
    """The graph below one object: parts[0] is the object itself."""

    def __init__(self, root: Any, name: str, memory: Memory | None = None) -> None:
        """Walk through everything the object leads to; `name` begins every path."""
        self.opaque = ""  # where the first object is that could not be inspected, and why
        self._name = name
        self._memory = memory
        self.parts: list[Part] = []
        self.children: list[list[int]] = []
        self._origins: list[tuple[int, str]] = []  # from which object, by which edge it was met
        self._numbers: dict[int, int] = {}
        self._library_names = LibraryNames()
        read_anew()
        self._number(root, -1, name)
        self._add_switches()
        for number, part in enumerate(self.parts):  # grows during the iteration
            self.children.append([self._number(thing, number, edge) for edge, thing in part.edges])

    def _add_switches(self) -> None:
        """Make changed switches of libraries count for the object itself."""
        changed = changed_switches()
        if not changed:
            return
        root = self.parts[0]
        edges = [
            (f" ({name})", Part(label("switch", name, value), words=value))
            for name, value in changed
        ]
        head = label("switched", root.label, tuple(name for name, _ in changed))
        self.parts[0] = Part(head, [*root.edges, *edges], root.words, root.unordered)

    def digests(self) -> list[bytes]:
        """Return the digest of every object."""
        return digests(self.parts, self.children)

    def _path(self, number: int) -> str:
        """Return how to get from the root to an object."""
        names = []
        while number >= 0:
            number, name = self._origins[number]
            names.append(name)
        return "".join(reversed(names))

    def _number(self, thing: Any, parent: int, edge: str) -> int:
        kind = type(thing)
        alone = kind in SCALARS or kind is Part
        if not alone and id(thing) in self._numbers:
            return self._numbers[id(thing)]
        number = len(self.parts)
        self._origins.append((parent, edge))
        self.parts.append(thing if kind is Part else self._take_apart(thing, number))
        if not alone:
            self._numbers[id(thing)] = number
        return number

    def _take_apart(self, thing: Any, number: int) -> Part:
        try:
            return take_apart(thing, self._library_names, self._memory)
        except Opaque as error:
            why = str(error)
        except JoaderError:  # from a storage whose files are gone: the message says so
            raise
        except Exception as error:  # any code of the object's class may have run
            why = f"looking at it raised {type(error).__name__}: {error}"
        kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
        if not self.opaque:
            self.opaque = (
                f"{self._path(number)} is a {kind}, which has no state that could be compared "
                f"between jobs: {why}; {self._remedy(thing)}"
            )
        return Part(label("opaque", os.urandom(DIGEST_BYTES)), words=f"a {kind}")

    def _remedy(self, thing: Any) -> str:
        rest = "leave it out in __getstate__, or give key= to name the dataset yourself"
        if issubclass(type(thing), _RUNNING):
            return rest
        # Most such handles are opened at first use, as they should be; but this process was the
        # first: someone looked at one sample, or an earlier loader read without workers.
        return (
            f"it is open now, maybe because this process has read {self._name}[...], by itself or "
            f"in a pass with num_workers=0; have workers be the first to open it, {rest}"
        )
