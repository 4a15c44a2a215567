"""What a piece of bytecode reads from outside itself: globals, closures and late imports.

Control flow is not followed: a name that is imported anywhere in a function counts as that import
everywhere in it. What directly follows a name is: its attributes, and whether it is then asked for
something under a constant string (`os.environ["X"]`, `os.getenv("X", default)`).
"""

import dis
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_CELLS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_CALLS = frozenset({"PRECALL", "CALL"})
_SILENT = frozenset({"EXTENDED_ARG", "CACHE", "NOP", "RESUME"})
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)


_Target: TypeAlias = tuple[str, ...]  # a module, and the attribute that is taken from it


class Use(NamedTuple):
    """What is read from one name, and how it is used."""

    origin: str  # "global", "free" (a closure) or "import" (then the module is the first name)
    names: tuple[str, ...]  # the name and the attributes directly read from it
    how: str = ""  # "item", "call" or "in", if it is asked for `key`; "write", if that is set
    key: str = ""


@dataclass(frozen=True)
class Reads:
    """Everything that code, and the code inside it, reads from outside; each sorted."""

    names: tuple[tuple[str, ...], ...]  # globals: ("args", "size") for args.size
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]  # from ..b import c: ("b", 2, ("c",))
    uses: tuple[Use, ...]
    words: frozenset[str]  # every name in it, also of attributes of unknown objects


@lru_cache(maxsize=4096)
def reads(code: CodeType) -> Reads:
    """Find what this code, and the code inside it, reads from its globals and imports."""
    found = _Found()
    found.add(code, {})
    return Reads(
        tuple(sorted({use.names for use in found.uses if use.origin == "global"})),
        tuple(sorted(found.imports)),
        tuple(sorted(found.uses)),
        frozenset(found.words),
    )


class _Found:
    def __init__(self) -> None:
        self.imports: set[tuple[str, int, tuple[str, ...]]] = set()
        self.uses: set[Use] = set()
        self.words: set[str] = set()
        self._module: dict[str, _Target] = {}  # what a whole module imports at its top

    def add(self, code: CodeType, around: Mapping[str, _Target]) -> None:
        """Add what code reads; `around` are the imports of the enclosing functions."""
        steps = [step for step in dis.get_instructions(code) if step.opname not in _SILENT]
        imported = dict(self._imported(steps))
        if code.co_name == "<module>":
            self._module = imported
        known = {**around, **imported}
        self.words.update(code.co_names)
        number = 0
        while number < len(steps):
            first = number
            root = self._root(steps[number], code, known)
            number += 1
            if root is None:
                continue
            origin, names = root
            while steps[number].opname in _ATTRIBUTES:
                names = (*names, str(steps[number].argval))
                number += 1
            self.uses.add(Use(origin, names, *_asked(code, steps, first, number)))
        inner = {
            name: known[name] for name in (*code.co_cellvars, *code.co_freevars) if name in known
        }
        for const in code.co_consts:
            if isinstance(const, CodeType):
                self.add(const, inner)

    def _root(
        self, step: dis.Instruction, code: CodeType, known: Mapping[str, _Target]
    ) -> tuple[str, _Target] | None:
        """Return where a chain of attributes begins, if this step begins one."""
        # Python 3.13 loads two locals in one step: the second is what attributes are read from.
        name = step.argval[-1] if isinstance(step.argval, tuple) and step.argval else step.argval
        if step.opname in _GLOBALS:
            # In the body of a class a name may be its own or a global.
            target = known.get(name) if step.opname != "LOAD_GLOBAL" else None
            target = target or self._module.get(name)
            return ("global", (name,)) if target is None else ("import", target)
        if step.opname not in _CELLS and not step.opname.startswith("LOAD_FAST"):
            return None
        if name in known:
            return "import", known[name]
        return ("free", (name,)) if step.opname in _CELLS and name in code.co_freevars else None

    def _imported(self, steps: Sequence[dis.Instruction]) -> Iterator[tuple[str, _Target]]:
        """Yield the names that imports are stored under, each with module and attribute."""
        before: list[Any] = [None, None]  # an import's level and list of names
        target: _Target = ()
        whole, inner = "", ""
        for step in steps:
            if step.opname == "IMPORT_NAME":
                level, items = before
                assert isinstance(level, int)
                listed = items if isinstance(items, tuple) else ()
                self.imports.add((step.argval, level, listed))
                whole = "." * level + step.argval
                # `import a.b` gives a; `import a.b as c` then takes b from it.
                inner = whole if listed else whole.partition(".")[0]
                target = (inner,)
            elif step.opname == "IMPORT_FROM" and target:
                target = (inner, step.argval) if inner == whole else (whole,)
            elif step.opname.startswith("STORE_") and target:
                yield str(step.argval), target
                target = (inner,) if inner == whole else ()
            elif step.opname == "LOAD_CONST":  # another import or something else begins
                target = ()
            before = [before[1], step.argval]


def _asked(
    code: CodeType, steps: Sequence[dis.Instruction], first: int, after: int
) -> tuple[str, str]:
    """Return how the value read by steps[first:after] is asked for a constant string, and which."""
    before = steps[first - 1] if first else None
    after += steps[after].opname == "PUSH_NULL"
    step = steps[after]
    if step.opname == "CONTAINS_OP" and before is not None and _is_text(before):
        return "in", before.argval
    if not _is_text(step):
        return "", ""
    following = steps[after + 1]
    if following.opname in {"STORE_SUBSCR", "DELETE_SUBSCR"}:
        return "write", step.argval
    if following.opname == "BINARY_SUBSCR" or following.argrepr == "[]":
        return "item", step.argval
    is_argument = _is_first_argument(code, steps[after + 1 :])
    return ("call", step.argval) if is_argument else ("", "")


def _is_text(step: dis.Instruction) -> bool:
    return step.opname == "LOAD_CONST" and type(step.argval) is str


def _is_first_argument(code: CodeType, steps: Sequence[dis.Instruction]) -> bool:
    """Return whether the constant that was just loaded is, unchanged, a call's first argument.

    Values loaded after it stay above it on the stack until the call; an instruction that pops down
    to it may have changed it. Other paths through an expression (jumps) are not followed.
    """
    above = 0  # values above the constant
    keywords: tuple[str, ...] = ()
    for number, step in enumerate(steps):
        if step.opname == "KW_NAMES":
            keywords = code.co_consts[step.arg or 0]
            continue
        if step.opname == "CALL_KW" and above == step.arg:  # the names are above the arguments
            return "key" not in steps[number - 1].argval
        if step.opname in _CALLS and step.arg is not None and above == step.arg - 1:
            return "key" not in keywords
        if step.opcode in _JUMPS or (step.opname == "SWAP" and (step.arg or 0) > above):
            return False
        above += dis.stack_effect(step.opcode, step.arg, jump=False)
        if above < 1:
            return False
    return False
