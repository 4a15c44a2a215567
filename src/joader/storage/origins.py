"""Where the bytes that were read last came from, for the messages of those who work on them.

A storage gives plain bytes, and a decoder that fails has nothing else; the user wants the path. So
the last few reads of the process are noted here, by what can be told of an object without keeping
it: its identity, its length and its end. Nothing but messages may depend on it: an object that was
freed could, if all three agree, be taken for another.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

_MOST = 1024
_END_BYTES = 16

_noted: "OrderedDict[int, tuple[int, bytes, Callable[[Any], str], Any]]" = OrderedDict()


def note(bodies: Iterable[Any], name: Callable[[Any], str], items: Iterable[Any]) -> None:
    """Note which item each of some bodies was read from; `name(item)` would say where it is."""
    for body, item in zip(bodies, items, strict=True):
        if body is not None:
            _noted.pop(
                id(body), None
            )  # what had this place before was freed; this one is the last read
            _noted[id(body)] = len(body), body[-_END_BYTES:], name, item
    while len(_noted) > _MOST:
        _noted.popitem(last=False)


def origin(body: Any) -> str | None:
    """Return where bytes came from, if they were read lately."""
    noted = _noted.get(id(body)) if type(body) is bytes else None
    if noted is None or noted[:2] != (len(body), body[-_END_BYTES:]):
        return None
    _, _, name, item = noted
    return name(item)
