"""The source files of a user's module and of all user modules it imports, as one digest.

It serves modules whose used names are unknown, because they are imported inside a function or kept
as a value. Files are read, never run: an import may be slow, and whether it has happened must not
change the digest. But if it has happened, constants that differ from the file have been set since
(`config.SIZE = 224`), and count.
"""

import ast
import os
import sys
from functools import lru_cache
from hashlib import blake2b
from importlib.util import resolve_name
from typing import Any

from joader.recipe.fingerprint.environment import names_read
from joader.recipe.fingerprint.graph import DIGEST_BYTES, digest_of, label
from joader.recipe.fingerprint.origin import file_of, library_of
from joader.recipe.fingerprint.reads import Use, reads

# Usually a cache: later entries are not settings.
_EMPTY = frozenset({"{}", "[]"})


def source_digest(*names: str) -> bytes:
    """Digest the files of these modules and of what they import, without libraries."""
    named = [
        digest_of(label(name), [blake2b(text, digest_size=DIGEST_BYTES).digest()])
        for name, text in _texts(names).items()
    ]
    return digest_of(label("sources"), sorted(named))


def source_variables(*names: str) -> set[str]:
    """Return the environment variables that the same files read anywhere."""
    return set().union(*map(_variables, _texts(names).values()))


def changed_constants(*names: str) -> dict[str, Any]:
    """Return the constants of the same modules that differ from what their files set."""
    changed: dict[str, Any] = {}
    for name, text in _texts(names).items():
        values = getattr(sys.modules.get(name), "__dict__", {})
        for constant, literal in _constants(text).items():
            if constant in values and not _is_same(values[constant], ast.literal_eval(literal)):
                changed[f"{name}.{constant}"] = values[constant]
    return changed


@lru_cache(maxsize=256)  # for one walk: many functions import the same
def _texts(names: tuple[str, ...]) -> dict[str, bytes]:
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


def read_anew() -> None:
    """Read files again from now on: a new walk has begun."""
    _texts.cache_clear()


def absolute(name: str, package: str) -> str:
    """Return the full name of a module; "" if it has more dots than packages."""
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
def _constants(text: bytes) -> dict[str, str]:
    """Return what a file sets at its top level, exactly once, to a plain value; as source text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    set_by: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            set_by.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Global):  # set again when some function runs
            for name in node.names:
                set_by.setdefault(name, []).append(node)
    found: dict[str, str] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            value = getattr(node, "value", None)
            if isinstance(target, ast.Name) and len(set_by[target.id]) == 1 and value is not None:
                source = ast.unparse(value)
                if _is_plain(value) and source not in _EMPTY:
                    found[target.id] = source
    return found


def _is_plain(node: ast.AST) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_same(value: Any, literal: Any) -> bool:
    if type(value) is not type(literal):
        return False
    if type(literal) in (list, tuple):
        pairs = zip(value, literal, strict=False)
        return len(value) == len(literal) and all(_is_same(*pair) for pair in pairs)
    if type(literal) is dict:
        same_keys = value.keys() == literal.keys()
        return same_keys and all(_is_same(value[key], one) for key, one in literal.items())
    return bool(value == literal)


@lru_cache(maxsize=1024)
def _variables(text: bytes) -> frozenset[str]:
    try:
        code = compile(text, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(names_read(reads(code), _imported_root))


def _imported_root(use: Use) -> Any:
    return sys.modules.get(use.names[0]) if use.origin == "import" else None
