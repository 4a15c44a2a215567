"""The source files of a user's module and of all user modules it imports, as one digest.

For where it is not known which names of a module are used: it is imported inside a function, or
kept as a value. Files are read, never run: an import may be slow, and its having happened or not
must not change the digest.
"""

import ast
import os
import sys
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from importlib.util import resolve_name
from typing import Any

from joader.recipe.fingerprint.environment import names_read
from joader.recipe.fingerprint.graph import DIGEST_BYTES, digest_of, label
from joader.recipe.fingerprint.origin import file_of, library_of
from joader.recipe.fingerprint.reads import Use, reads


def source_digest(*names: str) -> bytes:
    """Digest the files of these modules and of what they import, libraries left out."""
    named = [
        digest_of(label(name), [blake2b(text, digest_size=DIGEST_BYTES).digest()])
        for name, text in _texts(names).items()
    ]
    return digest_of(label("sources"), sorted(named))


def source_variables(*names: str) -> set[str]:
    """Return the environment variables that the same files read, wherever in them."""
    return set().union(*map(_variables, _texts(names).values()))


def _texts(names: Iterable[str]) -> dict[str, bytes]:
    """Read the files of modules and of all user modules that they import."""
    texts: dict[str, bytes] = {}
    met = set(names)
    todo = list(met)
    while todo:
        name = todo.pop()
        file = file_of(name)
        if file is None or library_of(name) is not None or not os.path.isfile(file):
            continue
        with open(file, "rb") as source:
            texts[name] = source.read()
        is_package = os.path.basename(file).startswith("__init__.")
        package = name if is_package else name.rpartition(".")[0]
        new = _imported(texts[name], package) - met
        met |= new
        todo.extend(new)
    return texts


def absolute(name: str, package: str) -> str:
    """Return the full name of a module; "" where it has more dots than packages."""
    try:
        return resolve_name(name, package)
    except ImportError:
        return ""


def import_names(name: str, level: int, items: tuple[str, ...], package: str) -> list[str]:
    """Return the modules that `from <level dots><name> import <items>` may load."""
    whole = absolute("." * level + name, package)
    if not whole:  # it will fail when it runs, too
        return []
    parts = whole.split(".")
    parents = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return parents + [f"{whole}.{item}" for item in items if item != "*"]


@lru_cache(maxsize=1024)  # a look is taken before each pass, and files seldom change
def _imported(text: bytes, package: str) -> frozenset[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # an extension module: its bytes are all there is
        return frozenset()
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                found += import_names(item.name, 0, (), package)
        elif isinstance(node, ast.ImportFrom):
            items = tuple(item.name for item in node.names)
            found += import_names(node.module or "", node.level, items, package)
    return frozenset(found)


@lru_cache(maxsize=1024)
def _variables(text: bytes) -> frozenset[str]:
    try:
        code = compile(text, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(names_read(reads(code), _imported_root))


def _imported_root(use: Use) -> Any:
    return sys.modules.get(use.names[0]) if use.origin == "import" else None
