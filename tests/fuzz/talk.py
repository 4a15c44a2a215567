"""What a client may say, and what no client should: sequences of steps on a raw connection.

A *step* is a plain tuple, so that hypothesis prints it and shrinks it. Arrays are drawn from values
that make sense, nearly do, or lie at the ends of their range. `Stop` is left out: from the same
user it is an order.
"""

import pickle
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import hypothesis.strategies as st
import msgspec
import numpy as np

from joader.messages import packed

Step = tuple[Any, ...]
Environment = dict[str, Any]

EDGES = (0, 1, 2, 7, 64, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1)
numbers = st.sampled_from([*EDGES, -1, -(2**63), 2**63, 2**64 - 1]) | st.integers(0, 300)
nonsense = st.one_of(
    st.none(), st.booleans(), numbers, st.floats(), st.text(max_size=5), st.binary(max_size=9)
) | st.lists(numbers, max_size=3)
arrays = st.one_of(
    st.lists(st.integers(0, 40), max_size=40).map(packed),
    st.lists(st.sampled_from([*EDGES[:-1], -1, 2**63 - 1, -(2**63)]), max_size=5).map(packed),
    st.binary(max_size=17),
    st.integers(0, 60).map(lambda n: packed(np.arange(n))),
)
NAMES = ("fuzz a", "fuzz b", "neighbours", "")


class Numbers:
    """A dataset that works."""

    def prepare(self, row: int, slot: Any = None) -> Any:
        return np.full(100 + row % 3, row % 251, np.uint8), row


class Telltale:
    """What is unpickled somewhere writes down in which process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return _write_pid, (str(self.path),)


def _write_pid(path: str) -> None:
    import os

    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")


cloudpickle.register_pickle_by_value(sys.modules[__name__])


def bodies(folder: Path) -> list[bytes]:
    """Return code that works, that tells where it ran, and that is none."""
    good = cloudpickle.dumps(Numbers())
    return [good, cloudpickle.dumps(Telltale(folder / "ran")), b"no pickle", b"", pickle.dumps(3)]


def environments(good: Environment) -> list[Environment]:
    """Return one that works, more often than those that do not."""
    return [
        *([good] * 6),
        {**good, "interpreter": "/no/such/python"},
        {**good, "interpreter": "py\0thon"},
        {**good, "folder": "/no/such/folder"},
        {**good, "path": ["\0"]},
    ]


def registers(environment: Environment) -> tuple[st.SearchStrategy[Any], st.SearchStrategy[Any]]:
    """Return Registers that make sense, and such that do but for a few fields."""
    counts = st.integers(1, 40)
    sensible = st.fixed_dictionaries(
        {
            "name": st.text(max_size=8),
            "recipe": st.sampled_from(NAMES),
            "rows": counts.map(lambda n: packed(np.arange(n))),
            "row_limit": st.just(200),
            "batch_size": st.sampled_from([1, 4, 8]),
            "order": st.sampled_from(["shared", "seeded", "given", "told"]),
            "seed": st.integers(0, 3),
            "fresh": st.booleans(),
            "environment": st.sampled_from(environments(environment)),
            "code_time": st.just(0.0),
            "own": st.sampled_from([b"", b"", b"", b"no pickle"]),
            "team": st.sampled_from(["", "", "team"]),
            "rank": st.sampled_from([0, 0, 1]),
            "world_size": st.sampled_from([1, 1, 2]),
            "drop_last": st.booleans(),
        }
    )
    odd = st.dictionaries(
        st.sampled_from(["row_limit", "batch_size", "seed", "rank", "world_size"]),
        numbers,
        max_size=2,
    ) | st.dictionaries(
        st.sampled_from(["rows", "order", "team", "name", "recipe", "own", "environment"]),
        arrays | nonsense,
        max_size=1,
    )
    return sensible, st.builds(lambda fields, change: fields | change, sensible, odd)


passes = st.fixed_dictionaries(
    {
        "type": st.just("StartPass"),
        "number": st.integers(0, 5) | numbers,
        "epoch": st.integers(0, 2) | numbers,
        "key": st.integers(0, 2**64 - 1) | numbers,
        "done": st.just(b"") | arrays,
        "taken": st.just(0) | st.integers(0, 3) | numbers,
        "plan": st.just([]) | st.lists(st.tuples(arrays, st.integers(0, 2) | numbers), max_size=3),
    }
)
knows = st.fixed_dictionaries(
    {"type": st.just("PlanKnown"), "number": st.integers(0, 2) | numbers, "count": numbers}
)
wants = st.fixed_dictionaries(
    {
        "type": st.just("NextBatch"),
        "count": st.integers(1, 8) | numbers,
        "positions": st.just(b"") | arrays,
        "times": st.just(b"") | arrays,
    }
)
gifts = st.fixed_dictionaries({"type": st.just("GiveBack"), "samples": arrays})
short = st.sampled_from(["TakeBackPlan", "AskWhy", "AskStatus"]).map(lambda name: {"type": name})
KINDS = ("Register", "Body", "StartPass", "NextBatch", "GiveBack", "AskWhy", "Hello", "Cooked", "")
wrong = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from(KINDS),
    st.dictionaries(
        st.sampled_from(
            ["count", "positions", "samples", "done", "body", "number", "epoch", "key"]
        ),
        nonsense | arrays,
        max_size=4,
    ),
)


messages = st.one_of(passes, wants, wants, knows, gifts, short, wrong)


def steps(folder: Path, environment: Environment) -> st.SearchStrategy[list[Step]]:
    """Return what one client does, from its first byte on.

    Most come far enough to read, and then say a few things among the right ones.
    """
    good, code = bodies(folder)[0], st.sampled_from(bodies(folder))
    sensible, odd = registers(environment)
    step = st.one_of(
        messages.map(lambda fields: ("say", fields)),
        messages.map(lambda fields: ("say", fields)),
        st.tuples(st.just("many"), wants | short | gifts, st.integers(2, 400)),
        st.tuples(st.just("flip"), messages, st.integers(0, 99), st.integers(1, 255)),
        st.tuples(st.just("cut"), messages, st.integers(0, 30)),
        st.tuples(st.just("lie"), numbers.filter(lambda n: 0 <= n < 2**32), st.binary(max_size=40)),
        st.tuples(st.just("bytes"), st.binary(min_size=1, max_size=80)),
        st.just(("read",)),
        st.just(("give back",)),
        (sensible | odd).map(lambda fields: ("say", {"type": "Register", **fields})),
        code.map(lambda body: ("say", {"type": "Body", "body": body})),
    )
    begin = ("say", {"type": "StartPass", "number": 1, "epoch": 0, "key": 1})
    right = st.sampled_from([("next",), ("next",), ("give back",), begin])
    reading = st.builds(
        lambda fields, rest: [("join", fields, good), begin, ("next",), ("next",), *rest],
        sensible,
        st.lists(right | right | right | step, min_size=6, max_size=16),
    )
    joined = st.builds(
        lambda fields, body, rest: [("join", fields, body), *rest],
        sensible | odd,
        code,
        st.lists(right | step, max_size=12),
    )
    stranger = st.lists(step, min_size=2, max_size=8)
    unshaken = st.lists(step, max_size=2).map(lambda rest: [("no hello",), *rest])
    return st.one_of(reading, reading, reading, joined, stranger, unshaken)


def encoded(fields: dict[str, Any]) -> bytes:
    """Return any fields as a frame."""
    body = msgspec.msgpack.encode(fields)
    return len(body).to_bytes(4, "big") + body
