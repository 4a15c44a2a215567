"""What loaders of this process have found out about datasets, for later loaders of datasets alike.

That rows take no time, or that a dataset changes when it is read, only a worker can find out, and
to start one takes a hundred times as long as to read a few such rows. So a process remembers it,
by the dataset's *kind*: classes, code of functions, and flags, a few levels deep; neither numbers,
texts nor content. Two datasets of one kind may differ all the same, so nothing here may change
what a row is: it says who reads rows, and a job that reads quick rows itself notices if they are
slow (`recipe.watch.Pace`). A kind whose rows were seen to be quick and slow is not believed again.

Kinds refer to classes weakly, and what is known is bounded. Without locks: each step is one step of
a dict, and a forked process goes on with what was known.
"""

from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ref

from joader.recipe.watch import Found

MOST_KINDS = 256
# Of each dataset, container and level: a look must take microseconds.
_MOST_PARTS, _MOST_ATTRIBUTES, _MOST_ELEMENTS, _DEPTH = 64, 32, 3, 6

Kind = Hashable


@dataclass(frozen=True)
class Learned:
    """What is known of a kind of dataset."""

    at_hand: bool | None = None  # its rows take no time; False: some do, some do not
    keeps_state: bool = False  # it changes when it is read
    found: Found | None = None  # where the workers of the latest loader say what they find


_known: dict[Kind, Learned] = {}


def learned_of(kind: Kind) -> Learned:
    """Return what is known."""
    known = _known.get(kind, Learned())
    # A loader may be gone before the row is asked for that would have told it.
    if known.found is not None and known.found.at_hand and known.at_hand is None:
        return learn(kind, at_hand=True)
    return known


def learn(kind: Kind, **news: Any) -> Learned:
    """Note what was found out, in the place of what was known."""
    before = _known.get(kind, Learned())
    now = replace(before, **news)
    if before.at_hand is False:  # rows of this kind were seen to be quick, and then slow
        now = replace(now, at_hand=False)
    _known[kind] = now
    with suppress(RuntimeError, StopIteration):  # another thread has just learned something
        while len(_known) > MOST_KINDS:
            _known.pop(next(iter(_known)), None)
    return now


def kind_of(dataset: Any) -> Kind:
    """Return what datasets that are made alike have in common; no code of the user's runs."""
    return _Walk().kind(dataset, _DEPTH)


class _Walk:
    """A walk through a dataset's attributes, which ends after so many."""

    def __init__(self) -> None:
        self._left = _MOST_PARTS

    def kind(self, thing: Any, depth: int) -> Kind:
        its = type(thing)
        if thing is None or its is bool:
            return its, thing
        self._left -= 1
        if issubclass(its, type | ModuleType):
            return ref(thing)
        if self._left < 0 or not depth:
            return ref(its)
        return ref(its), self._parts(thing, its, depth - 1)

    def _parts(self, thing: Any, its: type, depth: int) -> Kind:
        if its is FunctionType:
            cells = (_content(cell) for cell in thing.__closure__ or ())
            return thing.__code__, self._each(cells, depth)
        if its is MethodType:
            return self._each((thing.__func__, thing.__self__), depth)
        if its is partial:
            return self._each((thing.func, *thing.args, thing.keywords), depth)
        if its in (list, tuple, set, frozenset):
            return self._some(thing, depth)
        if its is dict:
            return self._some(thing.values(), depth)
        # As the class has it, and not as an instance may compute it.
        code = getattr(getattr(its, "__getitem__", None), "__code__", None)
        with suppress(AttributeError, TypeError):
            return code, self._attributes(object.__getattribute__(thing, "__dict__"), depth)
        return code

    def _each(self, things: Iterable[Any], depth: int) -> tuple[Kind, ...]:
        return tuple([self.kind(thing, depth) for thing in things])

    def _some(self, things: Iterable[Any], depth: int) -> Kind:
        with suppress(RuntimeError):  # another thread has just put something in
            return frozenset(self._each(list(islice(things, _MOST_ELEMENTS)), depth))
        return ()

    def _attributes(self, named: dict[str, Any], depth: int) -> Kind:
        with suppress(RuntimeError):
            few = list(islice(named.items(), _MOST_ATTRIBUTES))
            return tuple([(name, self.kind(thing, depth)) for name, thing in few])
        return ()


def _content(cell: Any) -> Any:
    with suppress(ValueError):  # it is empty
        return cell.cell_contents
    return None
