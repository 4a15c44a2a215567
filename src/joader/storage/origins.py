"""Where recently read bytes came from, for error messages.

A storage returns plain bytes, and a decoder that fails has nothing else; the user wants the path.
So the last few reads of the process are recorded here, by what can be remembered of an object
without keeping it alive: its identity, its length and its end. Only messages may depend on it: an
object that was freed could, if all three agree, be mistaken for another.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

_MOST = 1024
_END_BYTES = 16

_noted: "OrderedDict[int, tuple[int, bytes, Callable[[Any], str], Any]]" = OrderedDict()


def note(bodies: Iterable[Any], name: Callable[[Any], str], items: Iterable[Any]) -> None:
    """Record which item each body was read from; `name(item)` returns where it is."""
    for body, item in zip(bodies, items, strict=True):
        if body is not None:
            # An earlier object with this identity was freed; this one becomes the latest read.
            _noted.pop(id(body), None)
            _noted[id(body)] = len(body), body[-_END_BYTES:], name, item
    while len(_noted) > _MOST:
        _noted.popitem(last=False)


def origin(body: Any) -> str | None:
    """Return where bytes came from, if they were read recently."""
    noted = _noted.get(id(body)) if type(body) is bytes else None
    if noted is None or noted[:2] != (len(body), body[-_END_BYTES:]):
        return None
    _, _, name, item = noted
    return name(item)
