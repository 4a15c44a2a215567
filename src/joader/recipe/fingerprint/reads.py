"""What a piece of bytecode reads from outside itself: global names and late imports."""

import dis
from dataclasses import dataclass
from types import CodeType

_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


@dataclass(frozen=True)
class Reads:
    """Global names with the attributes read from them at once, and imports; each sorted."""

    names: tuple[tuple[str, ...], ...]  # ("args", "size") for args.size
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]  # from ..b import c: ("b", 2, ("c",))


def reads(code: CodeType) -> Reads:
    """Find what this code, and the code inside it, reads from its globals and imports."""
    names: set[tuple[str, ...]] = set()
    imports: set[tuple[str, int, tuple[str, ...]]] = set()
    todo = [code]
    while todo:
        inner = todo.pop()
        todo.extend(const for const in inner.co_consts if isinstance(const, CodeType))
        chain: tuple[str, ...] = ()
        before: list[object] = [None, None]  # an import's level and list of names
        for step in dis.get_instructions(inner):
            if step.opname == "EXTENDED_ARG":
                continue
            if chain and step.opname in _ATTRIBUTES:
                chain = (*chain, step.argval)
                continue
            if chain:
                names.add(chain)
            chain = (step.argval,) if step.opname in _LOADS else ()
            if step.opname == "IMPORT_NAME":
                level, items = before
                assert isinstance(level, int)
                imports.add((step.argval, level, items if isinstance(items, tuple) else ()))
            before = [before[1], step.argval]
    return Reads(tuple(sorted(names)), tuple(sorted(imports)))
