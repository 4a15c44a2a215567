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

PAPERS = ROOT / "papers"

MODULES = sorted((*SOURCE.rglob("*.py"), *PAPERS.rglob("*.py")))
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
