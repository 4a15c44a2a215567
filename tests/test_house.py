"""The house stays one that can be walked: files and functions of a size, tests where code is."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "joader"
TESTS = ROOT / "tests"

MOST_LINES = 600  # of a file. Most stay below 300; a limit near that would write the layout.
MOST_LINES_OF_A_FUNCTION = 60
MOST_POSITIONAL = 6
LEAST_MIRRORED = 0.8
MOST_COLUMNS_OF_MARKDOWN = 120
# These take any number of values of one kind, which have no names.
TAKE_ANY_NUMBER = {"Sequential", "add_row", "label", "zip"}
# What an assert may call: `python -O` leaves asserts out, so nothing may be done in one.
WITHOUT_EFFECT = {"all", "any", "isinstance", "issubclass", "len"}

# Three measures of the whole package, held at what they are: they may fall, and are lowered then.
# They are for what a limit of lines cannot see. Judgement comes before numbers: where a change for
# the better raises one, say so here and raise the bound.
# One importer: a file that serves a single other file is often a part of it that was pushed out.
MOST_WITH_ONE_IMPORTER = 0.28  # of all modules
# self.a.b.c: code that reaches through an object for a third one depends on how both are built.
MOST_CHAINS = 4.9  # per 1,000 lines
# Writes to another object's attribute: a state with two owners goes wrong in ways neither sees.
MOST_FOREIGN_WRITES = 6.2  # per 1,000 lines

PAPERS = ROOT / "papers"

MODULES = sorted((*SOURCE.rglob("*.py"), *PAPERS.rglob("*.py")))
PACKAGE = [path for path in MODULES if path.is_relative_to(SOURCE)]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def too_long(tree: ast.AST) -> Iterator[str]:
    """Yield the functions of more lines than one should have."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield f"{node.lineno} {node.name}: {lines} lines"


def by_place(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that give more arguments by place than one should, also in starred tuples."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        count = sum(
            len(one.value.elts)
            if isinstance(one, ast.Starred) and isinstance(one.value, ast.Tuple | ast.List)
            else 1
            for one in node.args
        )
        name = ast.unparse(node.func)
        if count > MOST_POSITIONAL and name.rpartition(".")[2] not in TAKE_ANY_NUMBER:
            yield f"{node.lineno} {name}: {count} arguments"


def with_an_effect(tree: ast.AST) -> Iterator[str]:
    """Yield the asserts that may do something; a property of ours is taken to do nothing."""
    acts = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assert):
            for node in ast.walk(statement):
                calls = isinstance(node, ast.Call) and ast.unparse(node.func) not in WITHOUT_EFFECT
                if calls or isinstance(node, acts):
                    yield f"{statement.lineno} {ast.unparse(statement)}"


def test_no_file_is_too_long() -> None:
    lines = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in MODULES}
    found = [f"{path}: {count} lines" for path, count in lines.items() if count > MOST_LINES]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("find", [too_long, by_place], ids=["functions", "calls"])
def test_no_function_is_too_long_and_no_call_has_too_many_arguments_by_place(
    find: Callable[[ast.AST], Iterator[str]],
) -> None:
    found = [f"{path.relative_to(ROOT)}:{one}" for path in MODULES for one in find(parsed(path))]
    assert not found, "\n".join(found)


def test_no_assert_has_an_effect() -> None:
    """Such an assert made every job under `python -O` load by itself, for a false reason."""
    found = [
        f"{path.relative_to(ROOT)}:{one}"
        for path in MODULES
        for one in with_an_effect(parsed(path))
    ]
    assert not found, "\n".join(found)


def test_modules_have_their_tests_where_they_lie_themselves() -> None:
    """`joader/a/b.py` is tested by `tests/a/test_b.py`, `papers/a.py` by
    `tests/papers/test_a.py`."""
    modules = [path for path in MODULES if not path.name.startswith("__")]
    missing = [
        str(where)
        for where in (
            path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT) for path in modules
        )
        if not (TESTS / where.with_name(f"test_{where.name}")).exists()
    ]
    share = 1 - len(missing) / len(modules)
    assert share >= LEAST_MIRRORED, f"{share:.1%} are; not these: {', '.join(missing)}"


def imported_by(path: Path, names: dict[str, Path]) -> set[Path]:
    """Return the modules of the package that a file imports."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {names[one.name] for one in node.names if one.name in names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                place = names.get(f"{node.module}.{one.name}") or names.get(node.module)
                found |= {place} if place else set()
    return found - {path}


def with_one_importer() -> list[Path]:
    """Return the modules that exactly one other imports; no `__init__` counts, on either side."""
    names = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE
    }
    importers: dict[Path, set[Path]] = {path: set() for path in PACKAGE}
    for path in PACKAGE:
        if path.name != "__init__.py":
            for one in imported_by(path, names):
                importers[one].add(path)
    return [
        path for path, those in importers.items() if len(those) == 1 and path.name != "__init__.py"
    ]


def chains(tree: ast.AST) -> int:
    """Count expressions of the form self.a.b.c."""
    count = 0
    for node in ast.walk(tree):
        links, inner = 0, node
        while isinstance(inner, ast.Attribute):
            links, inner = links + 1, inner.value
        count += links == 3 and isinstance(inner, ast.Name) and inner.id == "self"
    return count


def foreign_writes(tree: ast.AST) -> int:
    """Count assignments and deletions of attributes, or items in them, that are not self's own."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        for target in targets:
            for one in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                inner: ast.AST = one
                while isinstance(inner, ast.Subscript):
                    inner = inner.value
                if isinstance(inner, ast.Attribute):
                    owner = inner.value
                    count += not (isinstance(owner, ast.Name) and owner.id == "self")
    return count


def per_1000_lines(measure: Callable[[ast.AST], int]) -> float:
    lines = sum(len(path.read_text().splitlines()) for path in PACKAGE)
    return 1000 * sum(measure(parsed(path)) for path in PACKAGE) / lines


def test_few_modules_have_one_importer() -> None:
    found = with_one_importer()
    share = len(found) / len(PACKAGE)
    names = ", ".join(path.relative_to(SOURCE).as_posix() for path in found)
    assert share <= MOST_WITH_ONE_IMPORTER, f"{share:.1%}: {names}"


@pytest.mark.parametrize(
    ("measure", "most"), [(chains, MOST_CHAINS), (foreign_writes, MOST_FOREIGN_WRITES)]
)
def test_objects_keep_to_themselves(measure: Callable[[ast.AST], int], most: float) -> None:
    by_file = {path.relative_to(SOURCE).as_posix(): measure(parsed(path)) for path in PACKAGE}
    worst = sorted(by_file.items(), key=lambda one: -one[1])[:10]
    assert per_1000_lines(measure) <= most, f"{per_1000_lines(measure):.2f} per 1,000; {worst}"


def test_lines_of_markdown_are_not_too_long() -> None:
    found = []
    for page in PAGES:
        in_code = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            in_code ^= line.startswith("```")
            # What a program printed, and a row of a table, cannot be broken.
            if len(line) > MOST_COLUMNS_OF_MARKDOWN and not in_code and not line.startswith("|"):
                found.append(f"{page.relative_to(ROOT)}:{number}")
    assert not found, "\n".join(found)
