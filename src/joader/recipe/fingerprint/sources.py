"""The source files of a user's module and of all user modules it imports, as one digest.

For where it is not known which names of a module are used: it is imported inside a function, or
kept as a value. Files are read, never run: an import may be slow, and its having happened or not
must not change the digest.
"""

import ast
import os
from collections.abc import Iterator
from hashlib import blake2b
from importlib.util import resolve_name

from joader.recipe.fingerprint.graph import DIGEST_BYTES, digest_of, label
from joader.recipe.fingerprint.origin import file_of, library_of


def source_digest(*names: str) -> bytes:
    """Digest the files of these modules and of what they import, libraries left out."""
    contents: dict[str, bytes] = {}
    met = set(names)
    todo = list(names)
    while todo:
        name = todo.pop()
        file = file_of(name)
        if file is None or library_of(name) is not None or not os.path.isfile(file):
            continue
        with open(file, "rb") as source:
            text = source.read()
        contents[name] = blake2b(text, digest_size=DIGEST_BYTES).digest()
        is_package = os.path.basename(file).startswith("__init__.")
        package = name if is_package else name.rpartition(".")[0]
        new = set(_imported(text, package)) - met
        met |= new
        todo.extend(new)
    named = [digest_of(label(name), [content]) for name, content in contents.items()]
    return digest_of(label("sources"), sorted(named))


def import_names(name: str, level: int, items: tuple[str, ...], package: str) -> list[str]:
    """Return the modules that `from <level dots><name> import <items>` may load."""
    try:
        whole = resolve_name("." * level + name, package) if level else name
    except ImportError:  # more dots than packages: it will fail when it runs, too
        return []
    parts = whole.split(".")
    parents = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return parents + [f"{whole}.{item}" for item in items if item != "*"]


def _imported(text: bytes, package: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # an extension module: its bytes are all there is
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                yield from import_names(item.name, 0, (), package)
        elif isinstance(node, ast.ImportFrom):
            items = tuple(item.name for item in node.names)
            yield from import_names(node.module or "", node.level, items, package)
