"""Which rows a `where` selects: SQL over a table's columns, evaluated by DuckDB in this process.

The string must be one expression that is true or false for a row; nothing else is allowed. DuckDB's
own parser takes it apart: it may have columns of the table, constants, operators and deterministic
functions. Subqueries, aggregates, parameters and everything random are refused. In addition, the
connection has no access to files, extensions or Python variables.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from joader.catalog.indexing import ROW, check_case
from joader.errors import BadPredicate, UnknownColumn
from joader.storage.packages import needed
from joader.storage.per_process import PerProcess

_VIEW = "rows_of_table"
_ALLOWED = frozenset(
    [
        *("COMPARISON", "CONJUNCTION", "CONSTANT", "COLUMN_REF", "FUNCTION"),
        *("OPERATOR", "CASE", "CAST", "TYPE", "BETWEEN", "COLLATE"),
    ]
)
_IN_WORDS = {
    "SUBQUERY": "a subquery",
    "WINDOW": "a window function",
    "STAR": "a *",
    "PARAMETER": "a parameter",
    "LAMBDA": "a lambda",
}


def matching(
    table: Any, columns: Mapping[str, str], where: str, stored: Sequence[str] = ()
) -> npt.NDArray[np.int64]:
    """Return the numbers of the rows of an Arrow table for which an expression is true.

    `stored`: columns that are not in it, for the error message about one of them.
    """
    connection = _connection.get()
    error = needed("duckdb", "where=", "sql").Error
    cursor = connection.cursor()  # threads must not share one
    try:
        _check(cursor, columns, where, stored)
        cursor.register(_VIEW, table)
        ((_, kind, *_),) = cursor.execute(f"DESCRIBE SELECT ({where}\n) FROM {_VIEW}").fetchall()
        if kind != "BOOLEAN":
            raise BadPredicate(
                f"where={where!r} is of type {kind}, not true or false; compare it with something. "
                f"{_names(columns)}"
            )
        found = cursor.execute(f"SELECT {ROW} FROM {_VIEW} WHERE ({where}\n)").fetchnumpy()[ROW]
    except error as reason:
        raise BadPredicate(
            f"where={where!r} cannot be evaluated: {_first_line(reason)}. {_names(columns)}"
        ) from reason
    finally:
        cursor.close()
    rows: npt.NDArray[np.int64] = np.asarray(found, np.int64)
    return rows if np.all(rows[1:] > rows[:-1]) else np.sort(rows)


def _check(cursor: Any, columns: Mapping[str, str], where: str, stored: Sequence[str]) -> None:
    """Refuse anything that is not one expression over the columns."""
    # Anything that is not a complete expression has another meaning, or none, without the brackets.
    try:
        inside = _parsed(cursor, f"SELECT {ROW} FROM {_VIEW} WHERE ({where}\n)", where, columns)
        alone = _parsed(cursor, f"SELECT {ROW} FROM {_VIEW} WHERE {where}\n", where, columns)
        if inside != alone:
            raise BadPredicate(f"where={where!r} is not one expression. {_names(columns)}")
        nodes = list(_nodes(inside))
    except RecursionError as error:
        raise BadPredicate("where= is nested too deeply; give an array of row ids") from error
    known = {name.lower() for name in columns}
    for node in nodes:
        kind = node["class"]
        if kind not in _ALLOWED:
            what = _IN_WORDS.get(kind, f"a {kind.lower()}")
            raise BadPredicate(
                f"where={where!r} contains {what}; use only columns, constants, operators and "
                f"functions of them. {_names(columns)}"
            )
        if kind == "COLUMN_REF":
            name = ".".join(node["column_names"])
            if name not in columns and name in stored:
                raise UnknownColumn(
                    f"where={where!r}: the column {name!r} is stored with the data and is not in "
                    "the row table, which holds numbers, short strings, times without a zone, and "
                    "dates; use another, or add one with table.add_column(name, values). "
                    f"{_names(columns)}"
                )
            if name.lower() not in known:
                raise UnknownColumn(
                    f"where={where!r}: there is no column {name!r}. {_names(columns)}"
                )
            if sum(one.lower() == name.lower() for one in columns) > 1:  # of an older joader
                check_case(columns)
        if kind == "FUNCTION" and node["function_name"].lower() not in _functions():
            raise BadPredicate(
                f"where={where!r} calls {node['function_name']!r}, which is not a deterministic "
                f"function of values; use another one. {_names(columns)}"
            )


def _parsed(cursor: Any, query: str, where: str, columns: Mapping[str, str]) -> Any:
    ((text,),) = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()
    answer = json.loads(text)
    if answer["error"] or len(answer["statements"]) != 1:
        reason = answer.get("error_message", "it is several statements")
        raise BadPredicate(f"where={where!r} is not one expression: {reason}. {_names(columns)}")
    return _without_places(answer["statements"][0]["node"].get("where_clause"))


def _without_places(node: Any) -> Any:
    """Return a parsed expression without the positions of its parts in the text."""
    if isinstance(node, dict):
        return {
            name: _without_places(value)
            for name, value in node.items()
            if not name.startswith("query_location")
        }
    return list(map(_without_places, node)) if isinstance(node, list) else node


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield everything in a parsed expression that is an expression."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _nodes(part)


@lru_cache(maxsize=1)
def _functions() -> frozenset[str]:
    """Return the names of deterministic scalar functions."""
    found = (
        _connection.get()
        .cursor()
        .execute(
            "SELECT function_name FROM duckdb_functions() GROUP BY function_name "
            "HAVING bool_and(function_type = 'scalar' AND stability = 'CONSISTENT')"
        )
    )
    return frozenset(name for (name,) in found.fetchall())


def _connect() -> Any:
    duckdb = needed("duckdb", "where=", "sql")
    connection = duckdb.connect(
        ":memory:",
        config={
            "enable_external_access": "false",
            "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false",
            "python_enable_replacements": "false",
        },
    )
    connection.execute("SET lock_configuration = true")
    return connection


_connection: PerProcess[Any] = PerProcess(_connect)


def _names(columns: Mapping[str, str]) -> str:
    return f"The columns are {', '.join(f'{name} ({kind})' for name, kind in columns.items())}"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")
