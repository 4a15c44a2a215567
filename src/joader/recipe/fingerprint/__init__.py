"""One name for what a dataset is: equal in every job that would prepare the same samples.

The fingerprint of an object is taken over its graph: each object by its type and its state, user
code by its bytecode and by all it reads, libraries by name and version, arrays by content. Nothing
in it depends on the process: no id, address, hash seed, repr, pickle bytes, order of a dict or set.
Wrong in one direction only: two datasets that differ in what is listed below under *not seen* get
one name; in every other doubt the names differ, and the jobs merely do not share.

What is taken for what:

- *State* is what would travel to a worker: `__reduce_ex__`, and with it `__getstate__`. Values of
  `cached_property` and what an `lru_cache` holds are left out.
- *User code* is what lies neither in the standard library nor in site-packages. A function is its
  bytecode, constants, defaults, closure, attributes and the globals it reads (`args.size` reads
  only this attribute of a plain namespace, `helpers.load` only this name of a user's module); a
  class its attributes and bases. Not counted: names of functions and modules, lines, annotations.
- *Libraries*: module, qualified name and version of the package. An object that a library keeps
  under a name of its own (`random`'s generator) is that name. What users have put under a name of a
  library is seen where user code reads it, and so are the user's methods in a library's class.
- *Switches* of libraries that were changed (switches.py) count for every object.
- *Environment variables* count where user code reads them: by name, or all of them if the name is
  computed.
- *Storages* (`joader.storage`): what they say of their content: sizes and times of change of files.
- *Memory-mapped arrays and open files*: path, size and time of change. Random generators: their
  state.
- *Wrappers* (`singledispatch`, `torch.compile`, progress bars): what they wrap. Context variables:
  their value now.
- *Locks, loggers, thread-locals, weak references*: only that they are there.
- *What has no state that can be had* (handles of databases, sockets and libraries; generators)
  has a name that nobody else has (`look`), or raises (`fingerprint`), with the path to it.

Not seen: files behind path strings; the current folder (place.py names it); what libraries read
from the environment or from names that users have replaced; names that code looks up by string
(`getattr`, `import_module`); of a user's module that is only imported inside functions, what was
set there to other than plain values (its files are seen, and changed constants).

A job looks again before each pass. With a `Memory` that is quick: it keeps the digests of large
contents that cannot have changed, or have not.

The files, in reading order: outline.py answers; walk.py goes through all objects; anatomy.py takes
one apart, with program.py for code (reads.py, environment.py, patches.py, sources.py, origin.py),
wrappers.py for what stands for something else, content.py for bytes and bulk.py for large
containers, both with memory.py (checksum.py, spans.py); graph.py turns what was found into digests.
shorthand.py keeps an outline in a checkpoint.
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
