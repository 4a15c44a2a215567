"""User code taken apart: functions, classes, modules, and how libraries are named.

A function is its bytecode and everything it reads; a class its attributes and bases. The place and
name of code do not count: a script that is run and the same file imported are equal. Anything that
belongs to a library is its name there and the library's version (origin.py).
"""

import builtins
import os
import sys
from dataclasses import Field
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

from joader.recipe.fingerprint import environment
from joader.recipe.fingerprint.graph import Part, label
from joader.recipe.fingerprint.origin import SCRIPT, is_compiled, library_of
from joader.recipe.fingerprint.patches import is_users, unexpected, users_methods
from joader.recipe.fingerprint.reads import Use, reads
from joader.recipe.fingerprint.sources import (
    absolute,
    changed_constants,
    import_names,
    source_digest,
    source_variables,
)
from joader.recipe.fingerprint.wrappers import wrapping_function_part

# Attributes of a class that say nothing about what it does, or change while it is used.
_LEFT_OUT = frozenset(
    [
        *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__"),
        *("__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl"),
        *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
        *("__orig_bases__", "__parameters__", "__type_params__"),
    ]
)
_ORIGINS = {"global": ".__globals__.", "free": ".__closure__.", "import": "(import) "}
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement or by an extension like one


def code_part(code: CodeType) -> Part:
    """Take bytecode apart: instructions, constants and names, without lines and local names."""
    arguments = code.co_argcount + code.co_kwonlyargcount
    arguments += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
    consts = [(f".co_consts[{number}]", const) for number, const in enumerate(code.co_consts)]
    return Part(
        label(
            "code",
            code.co_code,
            code.co_exceptiontable,
            code.co_names,
            code.co_varnames[:arguments],
            code.co_cellvars,
            code.co_freevars,
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        ),
        consts,
        f"code at {code.co_filename}:{code.co_firstlineno}",
    )


def function_part(function: FunctionType) -> Part:
    """Take a function apart: its code, what it was made with and what it reads."""
    code = function.__code__
    home = str(function.__globals__.get("__name__", ""))
    library = library_of(home)
    if library is not None and "<" not in code.co_qualname:
        part = named_part(home, code.co_qualname)
        if environment.reader_name(function):  # kept as a value: what it will be asked is unknown
            part.edges.extend(environment.variables([environment.ALL]).items())
        return part
    wrapping = wrapping_function_part(function) if library is not None else None
    if wrapping is not None:
        return wrapping
    edges: list[tuple[str, Any]] = [(".__code__", code)]
    if function.__defaults__:
        edges.append((".__defaults__", function.__defaults__))
    if function.__kwdefaults__:
        edges.append((".__kwdefaults__", function.__kwdefaults__))
    cells = dict(zip(code.co_freevars, map(_contents, function.__closure__ or ()), strict=True))
    edges += [(f".__closure__.{name}", _told_apart(value)) for name, value in cells.items()]
    if vars(function):
        edges.append((".__dict__", vars(function)))
    if library is None:
        edges.extend(_outside(code, function.__globals__, cells))
    names = tuple(name for name, _ in edges)
    return Part(label("function", library, names), edges, f"function {function.__qualname__}")


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return Part(label("empty cell"), words="not yet set")


def _outside(
    code: CodeType, namespace: dict[str, Any], cells: dict[str, Any]
) -> list[tuple[str, Any]]:
    """Return what code reads from its module, its late imports and the environment."""
    found = reads(code)
    edges: dict[str, Any] = {}
    for chain in found.names:
        name, value = _resolve(chain, namespace)
        edges[f".__globals__.{name}"] = _told_apart(value)
    package = str(namespace.get("__package__") or "")
    variables = environment.names_read(found, lambda use: _root(use, namespace, cells, package))
    for use in found.uses:
        replaced = unexpected(use, _root(use, namespace, cells, package))
        if replaced is not None:
            edges[f"{_ORIGINS[use.origin]}{replaced[0]}"] = _told_apart(replaced[1])
    for name, level, items in found.imports:
        modules = import_names(name, level, items, package)
        whole = modules[-1 - len(items)] if modules else name
        known: Any = library_of(whole)
        if known is None:
            known = source_digest(*modules)
            variables |= source_variables(*modules)
            for constant, value in changed_constants(*modules).items():
                edges[f"(import) {constant}"] = value
        edges[f"(import {'.' * level}{name} {', '.join(items)})"] = Part(label("import", known))
    return sorted((edges | environment.variables(variables)).items())


def _root(use: Use, namespace: dict[str, Any], cells: dict[str, Any], package: str) -> Any:
    """Return the object that a chain of attributes begins with; None if there is none yet."""
    name = use.names[0]
    if use.origin == "global":
        return namespace.get(name)
    return cells.get(name) if use.origin == "free" else sys.modules.get(absolute(name, package))


def _told_apart(value: Any) -> Any:
    """Return what a value counts as; a reader of the environment counts only by its name here."""
    reader = environment.reader_name(value)
    return value if reader is None else Part(label("environment", reader), words=reader)


def _resolve(chain: tuple[str, ...], namespace: dict[str, Any]) -> tuple[str, Any]:
    """Follow `helpers.load` or `args.size` as far as it is certain to read nothing else."""
    name, *attributes = chain
    if name not in namespace:
        built_in = vars(builtins).get(name)
        if built_in is not None and is_users(built_in):
            return name, built_in
        return name, Part(label("built-in or missing"), words="no global")
    value = namespace[name]
    if name == "__name__" and value in SCRIPT:
        return name, _script_name(namespace)
    for attribute in attributes:
        if not _is_namespace(value) or attribute not in vars(value):
            break
        name, value = f"{name}.{attribute}", vars(value)[attribute]
    return name, value


def _script_name(namespace: dict[str, Any]) -> str:
    """Return the name that a running script would have if it were imported."""
    name = getattr(namespace.get("__spec__"), "name", None)
    if isinstance(name, str) and name not in SCRIPT:
        return name
    return os.path.splitext(os.path.basename(str(namespace.get("__file__"))))[0]


def _is_namespace(value: Any) -> bool:
    kind = type(value)
    if kind is SimpleNamespace or (kind.__module__, kind.__name__) == ("argparse", "Namespace"):
        return True
    return issubclass(kind, ModuleType) and library_of(value.__name__) is None


def class_part(cls: type) -> Part:
    """Take a class apart: its attributes, bases and metaclass; a library's by name."""
    module, qualname = str(cls.__module__), cls.__qualname__
    library = library_of(module)
    if not cls.__flags__ & _HEAP_TYPE:
        return named_part(module, qualname)
    if is_compiled(module) or (library is not None and "<locals>" not in qualname):
        part = named_part(module, qualname)
        replaced = users_methods(cls) if library is not None else []
        if replaced:
            part.label = label("with", part.label, tuple(name for name, _ in replaced))
            part.edges.extend(replaced)
        return part
    attributes = {name: value for name, value in vars(cls).items() if name not in _LEFT_OUT}
    if issubclass(cls, Enum):
        attributes = _enum_attributes(cls, attributes)
    edges = [(f".{name}", value) for name, value in sorted(attributes.items())]
    edges += [(f".__bases__[{number}]", base) for number, base in enumerate(cls.__bases__)]
    if type(cls) is not type:
        edges.append((".__class__", type(cls)))
    names = tuple(name for name, _ in edges)
    return Part(label("class", cls.__name__, names), edges, f"class {qualname}")


def _enum_attributes(cls: type[Enum], attributes: dict[str, Any]) -> dict[str, Any]:
    """Keep methods and members; Enum's own bookkeeping (`_x_`) grows while flags are used."""
    methods = (FunctionType, classmethod, staticmethod)
    kept = {
        name: value
        for name, value in attributes.items()
        if name not in cls.__members__
        and (name.startswith("__") or not name.startswith("_") or isinstance(value, methods))
    }
    kept["__members__"] = [(name, member._value_) for name, member in cls.__members__.items()]
    return kept


def named_part(module: str, name: str) -> Part:
    """Treat an object that is not inspected as its name and library; a user's as its files."""
    library = library_of(module)
    words = f"{module}.{name} of {library}" if library else f"{module}.{name}"
    return Part(label("named", library or source_digest(module), module, name), words=words)


def module_part(module: ModuleType) -> Part:
    """Treat a module as its library and version, or a user's as its files."""
    name, library = module.__name__, library_of(module.__name__)
    words = f"module {name}"
    if library is not None:
        return Part(label("module", name, library), words=words)
    edges = sorted(changed_constants(name).items()) + list(
        environment.variables(source_variables(name)).items()
    )
    names = tuple(edge for edge, _ in edges)
    return Part(label("module", name, source_digest(name), names), edges, words)


def builtin_part(function: BuiltinFunctionType) -> Part:
    """Treat a function written in C as its name, and the object it is bound to."""
    owner, module = function.__self__, str(getattr(function, "__module__", None))
    # pybind11 binds its functions to a capsule, or to a record of its own.
    is_pybind = type(owner).__name__ == "PyCapsule" or type(owner).__module__.startswith("pybind11")
    if owner is None or isinstance(owner, ModuleType) or is_pybind:
        return named_part(module, function.__qualname__)
    return Part(label("bound", function.__name__), [(".__self__", owner)])


def method_part(method: MethodType) -> Part:
    """Treat a bound method as its function and its object."""
    return Part(label("method"), [(".__func__", method.__func__), (".__self__", method.__self__)])


def descriptor_part(descriptor: Any) -> Part:
    """Treat a method of a built-in type (str.lower) as the type and its name."""
    return Part(
        label("descriptor", descriptor.__name__), [(".__objclass__", descriptor.__objclass__)]
    )


def slot_part(slot: Any) -> Part:
    """Treat a slot of a class as its name."""
    return Part(label("slot", slot.__name__))


def field_part(field: Field[Any]) -> Part:
    """Treat a dataclass field as everything but its annotation."""
    names = ("name", "default", "default_factory", "init", "repr", "hash", "compare", "metadata")
    return Part(label("field"), [(f".{name}", getattr(field, name)) for name in names])


class LibraryNames:
    """The names under which libraries keep objects of their own classes."""

    def __init__(self) -> None:
        self._names: dict[str, dict[int, str]] = {}

    def of(self, thing: Any) -> tuple[str, str] | None:
        """Return where a library keeps this object: in the module of its class or one above."""
        module = str(type(thing).__module__)
        if library_of(module) is None:
            return None
        while module:
            name = self._in(module).get(id(thing))
            if name is not None:
                return module, name
            module = module.rpartition(".")[0]
        return None

    def _in(self, module: str) -> dict[int, str]:
        if module not in self._names:
            members = getattr(sys.modules.get(module), "__dict__", {})
            # An object may have two names: take the first in the alphabet, not the first imported.
            ordered = sorted(members.items(), reverse=True)
            self._names[module] = {id(value): name for name, value in ordered}
        return self._names[module]
