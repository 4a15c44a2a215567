"""What a client may say, and what no client should: sequences of steps on a raw connection.

A *step* is a plain tuple, so that hypothesis prints it and shrinks it. Arrays are drawn from values
that make sense, nearly do, or lie at the ends of their range. `Stop` is left out: from the same
user it is an order.
"""

from typing import Any

import hypothesis.strategies as st
import msgspec
import numpy as np

Step = tuple[Any, ...]


def packed(values: Any) -> bytes:
    return np.asarray(values, "<i8").tobytes()


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


# Of nurseries that other attackers play; nobody comes with the last.
TICKETS = ("fuzz 1", "fuzz 2", "nobody")


def _to_themselves(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave the neighbour's recipe to those without workers: who has its code may prepare it."""
    if fields["ticket"] in TICKETS[:2] and fields["recipe"] == "neighbours":
        return fields | {"recipe": "fuzz a"}
    return fields


sensible = st.fixed_dictionaries(
    {
        "name": st.text(max_size=8),
        "recipe": st.sampled_from(NAMES),
        "rows": st.integers(1, 40).map(lambda n: packed(np.arange(n))),
        "row_limit": st.just(200),
        "batch_size": st.sampled_from([1, 4, 8]),
        "order": st.sampled_from(["shared", "seeded", "given", "told"]),
        "seed": st.integers(0, 3),
        "fresh": st.booleans(),
        "own": st.booleans(),
        "ticket": st.sampled_from(["", "", "", *TICKETS]),
        "workers": st.integers(0, 3),
        "lend": st.booleans(),
        "weight": st.sampled_from([1.0, 0.5, 1000.0]),
        "team": st.sampled_from(["", "", "team"]),
        "rank": st.sampled_from([0, 0, 1]),
        "world_size": st.sampled_from([1, 1, 2]),
        "drop_last": st.booleans(),
        "reads_for": st.sampled_from(["", "loader"]),
    }
).map(_to_themselves)
odd = st.builds(
    lambda fields, change: fields | change,
    sensible,
    st.dictionaries(
        st.sampled_from(["row_limit", "batch_size", "seed", "rank", "world_size", "workers"]),
        numbers,
        max_size=2,
    )
    | st.dictionaries(
        st.sampled_from(
            ["rows", "order", "team", "name", "weight", "ticket", "own", "pieces", "reads_for"]
        ),
        arrays | nonsense,
        max_size=1,
    ),
)


OF_ITS_SETTINGS = ("name", "weight", "lend")
OF_THE_DAEMON = ("ticket", "workers", "pieces")


def registration(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a Register with these fields, of its own, of its settings or of its Join."""
    own = {name: fields[name] for name in OF_THE_DAEMON if name in fields}
    settings = {name: fields[name] for name in OF_ITS_SETTINGS if name in fields}
    join = {name: value for name, value in fields.items() if name not in own | settings}
    join |= {"type": "Join", "job": 0}
    return {"type": "Register", **own, "settings": settings, "join": join}


passes = st.fixed_dictionaries(
    {
        "type": st.just("Begin"),
        "job": st.just(0) | numbers,
        "number": st.integers(0, 5) | numbers,
        "epoch": st.integers(0, 2) | numbers,
        "key": st.integers(0, 2**64 - 1) | numbers,
        "done": st.just(b"") | arrays,
        "taken": st.just(0) | st.integers(0, 3) | numbers,
        "plan": st.just([])
        | st.lists(st.tuples(arrays, st.integers(0, 2) | numbers, numbers), max_size=3),
    }
)
knows = st.fixed_dictionaries(
    {
        "type": st.just("Know"),
        "job": st.just(0),
        "number": st.integers(0, 2) | numbers,
        "count": numbers,
    }
)
wants = st.fixed_dictionaries(
    {
        "type": st.just("Want"),
        "job": st.just(0) | numbers,
        "count": st.integers(1, 8) | numbers,
        "positions": st.none() | arrays,
        "times": st.none() | arrays,
        "waited_s": st.floats() | st.just(0.5),
    }
)
gifts = st.fixed_dictionaries({"type": st.just("Release"), "job": st.just(0), "samples": arrays})
short = st.sampled_from(["AskWhy", "AskStatus", "AskRun"]).map(lambda name: {"type": name})
KINDS = ("Register", "Body", "Begin", "Want", "Release", "AskWhy", "Hello", "Prepared", "")
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

# What nurseries and workers say.
sample = st.integers(0, 60) | st.sampled_from([200, 2**31, 2**31 + 1, 2**62])
size = st.sampled_from([0, 1, 64, 128, 300, 2**20, 2**62])
reports = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("Prepared"),
            "samples": st.lists(sample, max_size=4),
            "layout": st.binary(max_size=9),
            "size_bytes": size,
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("Sized"),
            "samples": st.lists(sample, max_size=2),
            "sizes": st.lists(size, max_size=2),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("Failed"), "sample": sample, "reason": st.just("a lie")}
    ),
    st.fixed_dictionaries({"type": st.just("NotBegun"), "samples": st.lists(sample, max_size=9)}),
)
births = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("Ended"),
            "number": st.integers(0, 3) | numbers,
            "pid": numbers,
            "code": st.integers(-64, 255) | numbers,
        }
    ),
    st.fixed_dictionaries({"type": st.just("Unborn"), "reason": st.text(max_size=9)}),
)


def _steps(said: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    """Return steps of somebody who says such messages, and others."""
    return st.one_of(
        said.map(lambda fields: ("say", fields)),
        said.map(lambda fields: ("say", fields)),
        st.tuples(st.just("many"), wants | short | gifts | said, st.integers(2, 400)),
        st.tuples(st.just("flip"), said, st.integers(0, 99), st.integers(1, 255)),
        st.tuples(st.just("cut"), said, st.integers(0, 30)),
        st.tuples(st.just("lie"), numbers.filter(lambda n: 0 <= n < 2**32), st.binary(max_size=40)),
        st.tuples(st.just("bytes"), st.binary(min_size=1, max_size=80)),
        st.just(("read",)),
    )


def steps() -> st.SearchStrategy[list[Step]]:
    """Return what one attacker does, from its first byte on.

    Most come far enough to read, and then say a few things among the right ones.
    """
    step = st.one_of(
        _steps(messages),
        st.just(("give back",)),
        (sensible | odd).map(lambda fields: ("say", registration(fields))),
    )
    begin = ("say", {"type": "Begin", "job": 0, "number": 1, "epoch": 0, "key": 1})
    right = st.sampled_from([("next",), ("next",), ("give back",), begin])
    reading = st.builds(
        lambda fields, rest: [("join", fields), begin, ("next",), ("next",), *rest],
        sensible,
        st.lists(right | right | right | step, min_size=6, max_size=16),
    )
    joined = st.builds(
        lambda fields, rest: [("join", fields), *rest],
        sensible | odd,
        st.lists(right | step, max_size=12),
    )
    stranger = st.lists(step, min_size=2, max_size=8)
    unshaken = st.lists(step, max_size=2).map(lambda rest: [("no hello",), *rest])
    return st.one_of(reading, reading, reading, joined, stranger, unshaken, crews())


def crews() -> st.SearchStrategy[list[Step]]:
    """Return what one does who says it is a nursery or a worker, or comes as one and is neither."""
    tickets = st.sampled_from([*TICKETS[:2], "", "wrong"])
    number = st.integers(0, 2) | numbers.filter(lambda n: n >= 0)
    hello = st.tuples(
        st.just("as"), st.sampled_from(["nursery", "worker", "worker", ""]), tickets, number
    )
    return st.builds(
        lambda first, rest: [first, *rest],
        hello,
        st.lists(_steps(reports | births), max_size=8),
    )


def encoded(fields: dict[str, Any]) -> bytes:
    """Return any fields as a frame."""
    body = msgspec.msgpack.encode(fields)
    return len(body).to_bytes(4, "big") + body
