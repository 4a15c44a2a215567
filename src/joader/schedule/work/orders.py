"""Orders: messages to workers carry many rows, decisions are about one.

An *order* is a row to prepare, a job's own part to do, or a row to compare.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from joader.messages import Compare, Finish, Prepare

T = TypeVar("T")


class Row(msgspec.Struct, frozen=True, gc=False):
    """A row to prepare, and its slot (offset -1: none yet)."""

    recipe: str
    job: int
    key: int
    sample: int
    row: int
    position: int
    times: int
    offset: int
    size_bytes: int
    raw: int = -1  # its raw form: its source, or if that has no offset, one to keep
    raw_offset: int = -1
    raw_layout: bytes = b""
    whole: bool = False  # done with its job's own part, so by its own crew alone

    @property
    def keeps_raw(self) -> bool:
        """Whether the worker should keep the row as it was read, too, until it gets a slot."""
        return self.raw >= 0 and self.raw_offset < 0


class Raw(msgspec.Struct, frozen=True, gc=False):
    """A row as it was read, which waits in its worker for a slot."""

    job: int
    sample: int
    row: int
    offset: int = -1
    size_bytes: int = 0


class Own(msgspec.Struct, frozen=True, gc=False):
    """A job's own part of a sample; without a layout, its source is not in its slot yet."""

    job: int
    key: int
    sample: int
    source: int
    source_offset: int
    position: int
    times: int
    offset: int
    size_bytes: int
    layout: bytes


Order = Row | Own | Compare
# What a worker may have in hand.
InHand = Order | Raw


def is_whole(order: InHand) -> bool:
    """Tell whether an order is for a row with its job's own part."""
    return isinstance(order, Row) and order.whole


def rows_of(message: Prepare) -> list[Row]:
    """Return the orders in a message."""
    who = message.recipe, message.job, message.key
    each = zip(
        message.samples,
        message.rows,
        message.positions,
        message.times,
        message.offsets,
        message.sizes,
        strict=True,
    )
    no_raw = (-1, -1, b"", True) if message.whole else ()
    rows = [Row(*who, *one, *no_raw) for one in each]
    if not message.raws:
        return rows
    layouts = message.raw_layouts or (b"",) * len(rows)
    raws = zip(rows, message.raws, message.raw_offsets, layouts, strict=True)
    return [replace(row, raw=raw, raw_offset=at, raw_layout=how) for row, raw, at, how in raws]


def part_of(message: Prepare, rows: Mapping[int, int]) -> Prepare:
    """Return a part of a message: by place in it, the rows to read."""

    def at(values: tuple[T, ...]) -> tuple[T, ...]:
        return tuple([values[place] for place in rows]) if values else ()

    return replace(
        message,
        samples=at(message.samples),
        rows=tuple(rows.values()),
        positions=at(message.positions),
        times=at(message.times),
        offsets=at(message.offsets),
        sizes=at(message.sizes),
        raws=at(message.raws),
        raw_offsets=at(message.raw_offsets),
        raw_layouts=at(message.raw_layouts),
    )


def own_parts_of(message: Finish) -> list[Own]:
    """Return the orders in a message."""
    each = zip(
        message.samples,
        message.sources,
        message.source_offsets,
        message.positions,
        message.times,
        message.offsets,
        message.sizes,
        message.layouts or (b"",) * len(message.samples),
        strict=True,
    )
    return [Own(message.job, message.key, *one) for one in each]


def messages_of(orders: Iterable[Order], at_once: int = 0) -> list[Prepare | Finish | Compare]:
    """Return messages for orders, in their order: one for all that differ only in the row.

    `at_once`: how many rows their worker may read at a time; 0: as it does.
    """
    messages: list[Prepare | Finish | Compare] = []
    run: list[Any] = []  # rows, or own parts, that go into one message
    alike: tuple[Any, ...] = ()
    for order in orders:
        if isinstance(order, Compare):
            messages += [*_joined(run, at_once), order]
            run = []
            continue
        kind = type(order), order.job, order.key, *_kind_of_row(order)
        if run and kind != alike:
            messages += _joined(run, at_once)
            run = []
        alike = kind
        run.append(order)
    return messages + _joined(run, at_once)


def _kind_of_row(order: Row | Own) -> tuple[str, bool]:
    return (order.recipe, order.whole) if isinstance(order, Row) else ("", False)


def _joined(run: list[Any], at_once: int) -> list[Prepare | Finish | Compare]:
    if not run:
        return []
    return [_prepare(run, at_once) if isinstance(run[0], Row) else _finish(run)]


def _prepare(rows: list[Row], at_once: int) -> Prepare:
    raws: dict[str, Any] = {}
    if any(row.raw >= 0 for row in rows):
        raws["raws"] = tuple([row.raw for row in rows])
        raws["raw_offsets"] = tuple([row.raw_offset for row in rows])
        raws["raw_layouts"] = tuple([row.raw_layout for row in rows])
    return Prepare(
        "",  # a worker can prepare one recipe only, and a name is longer than all the rest
        rows[0].job,
        rows[0].key,
        samples=tuple([row.sample for row in rows]),
        rows=tuple([row.row for row in rows]),
        positions=tuple([row.position for row in rows]),
        times=tuple([row.times for row in rows]),
        offsets=tuple([row.offset for row in rows]),
        sizes=tuple([row.size_bytes for row in rows]),
        at_once=at_once,
        whole=rows[0].whole,
        **raws,
    )


def _finish(parts: list[Own]) -> Finish:
    return Finish(
        parts[0].job,
        parts[0].key,
        samples=tuple([own.sample for own in parts]),
        sources=tuple([own.source for own in parts]),
        source_offsets=tuple([own.source_offset for own in parts]),
        positions=tuple([own.position for own in parts]),
        times=tuple([own.times for own in parts]),
        offsets=tuple([own.offset for own in parts]),
        sizes=tuple([own.size_bytes for own in parts]),
        layouts=tuple([own.layout for own in parts]),
    )
