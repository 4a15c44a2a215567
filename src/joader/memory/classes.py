"""Classes to names and back: how a layout refers to a namedtuple or a dataclass.

The name is module and qualname, as pickle writes it; it is looked up in the process that reads the
sample. A class of the user's script is in `__main__` there, too.
"""

import importlib
from functools import lru_cache

from joader.errors import BadArgument


class CannotTravel(BadArgument):
    """Say that a sample cannot be handed to another process, and why."""


@lru_cache(maxsize=256)
def name_of(cls: type) -> str:
    """Return the name under which a reader can find the class."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    try:
        there = find(name) is cls
    except BadArgument:
        there = False
    if not there:
        raise CannotTravel(
            f"a sample is a {cls.__qualname__} of {cls.__module__}, a class that cannot be found "
            "by this name, so it cannot be handed to another process; move it to the top level of "
            "its module"
        )
    return name


def find(name: str) -> type:
    """Return the class with this name, importing its module if needed."""
    module, _, qualname = name.partition(":")
    try:
        found = importlib.import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise BadArgument(
            f"a sample is a {qualname} of module {module}, which cannot be found in this process: "
            f"{error}; put the class into a module that every job can import"
        ) from error
    if not isinstance(found, type):
        raise BadArgument(f"{module}.{qualname} is a {type(found).__name__} here, not a class")
    return found
