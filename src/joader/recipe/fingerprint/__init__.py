"""One name for what a dataset is: equal in every job that would prepare the same samples.

The fingerprint of an object is taken over its graph: each object by its type and its state, user
code by its bytecode and everything it reads, libraries by name and version, arrays by content.
Nothing in it depends on the process: no id, address, hash seed, repr, pickle bytes, order of a dict
or set. It can be wrong in one way only: two datasets that differ in what is listed below under *not
seen* get one name; in every other case of doubt the names differ, and the jobs merely do not share.

What counts as what:

- *State* is what pickle would take: `__reduce_ex__`, and with it `__getstate__`. Values of
  `cached_property` and what an `lru_cache` holds are left out.
- *User code* is code in neither the standard library nor site-packages. A function is its bytecode,
  constants, defaults, closure, attributes and the globals it reads (`args.size` reads only this
  attribute of a plain namespace, `helpers.load` only this name of a user's module); a class is its
  attributes and bases. Names of functions and modules, lines and annotations do not count.
- *Libraries*: module, qualified name and version of the package. An object that a library keeps
  under a name of its own (`random`'s generator) is that name. A user's replacement for a name of a
  library is seen if user code reads it, and so are the user's methods in a library's class.
- *Switches* of libraries that were changed (switches.py) count for every object.
- *Environment variables* count if user code reads them: by name, or all of them if the name is
  computed.
- *Storages* (`joader.storage`): what they report of their content: sizes and times of change of
  files.
- *Memory-mapped arrays and open files*: path, size and time of change. Random generators: their
  state.
- *Wrappers* (`singledispatch`, `torch.compile`, progress bars): what they wrap. Context variables:
  their value now.
- *Locks, loggers, thread-locals, weak references*: only that they exist.
- *Objects without accessible state* (handles of databases, sockets and libraries; generators) get a
  unique name (`look`) or raise (`fingerprint`), with the path to the object.

Not seen: files behind path strings; the current folder (place.py names it); what libraries read
from the environment or from names that users have replaced; names that code looks up by string
(`getattr`, `import_module`); in a user's module that is imported only inside functions, anything
set to other than plain values (its files are seen, and changed constants).

A job looks again before each pass. With a `Memory` that is quick: it keeps the digests of large
contents that cannot have changed, or have not.

Reading order: `outline` has the entry points; `walk` visits all objects; `anatomy` takes one apart,
with `program` for code (`reads`, `environment`, `patches`, `sources`, `origin`), `wrappers` for
wrappers, `switches` for libraries, `content` for bytes and `bulk` for large containers, both with
`memory` (and `spans`); `graph` turns the result into digests. `shorthand` keeps an outline in a
checkpoint.
"""

from joader.recipe.fingerprint.memory import Memory
from joader.recipe.fingerprint.outline import (
    Line,
    Look,
    Outline,
    difference,
    explain,
    fingerprint,
    look,
    name_of,
    outline,
)

__all__ = [
    "Line",
    "Look",
    "Memory",
    "Outline",
    "difference",
    "explain",
    "fingerprint",
    "look",
    "name_of",
    "outline",
]
