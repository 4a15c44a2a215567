"""What jobs have noted, against what they should have read: each position once a pass."""

from collections import Counter
from typing import Any

from tests.faults.job import JobSpec
from tests.faults.node import Violation


def check(
    spec: JobSpec, lines: list[dict[str, Any]], *, ended: bool = True, by_itself: bool = True
) -> int:
    """See that a job read what it should, as far as it has come; return how many rows.

    `by_itself`: it may have read some without a daemon, if it is allowed to.
    """
    errors = [line["error"] for line in lines if "error" in line]
    if errors:
        raise Violation(f"{spec.name} failed:\n{errors[-1]}")
    read = [(line["epoch"], line["rows"]) for line in lines if "rows" in line]
    for epoch in range(spec.passes):
        rows = [row for number, batch in read if number == epoch for row in batch]
        if spec.world_size > 1:
            continue  # it has its part of each step: see `check_ranks`
        complete = (ended and not spec.leaves_after) or any(number > epoch for number, _ in read)
        _check_pass(spec, epoch, rows, complete)
    if ended and "held_after" not in (lines[-1] if lines else {}):
        raise Violation(f"{spec.name} did not come to its end: {lines[-1:]}")
    alone = sum(line.get("by_itself", 0) for line in lines)
    if alone and not by_itself:
        raise Violation(f"{spec.name} read {alone} rows by itself, and there was a daemon for it")
    for line in lines:
        if "held_after" in line and line["held_before"] != line["held_after"]:
            raise Violation(
                f"{spec.name} held {line['held_before']} descriptors and arenas before it read, "
                f"and {line['held_after']} after it closed its loader"
            )
    return sum(len(rows) for _, rows in read)


def check_ranks(specs: list[JobSpec], logs: list[list[dict[str, Any]]]) -> None:
    """See that the ranks of one job have read each position once, between them."""
    for epoch in range(specs[0].passes):
        parts = [
            [row for line in log if line.get("epoch") == epoch for row in line.get("rows", ())]
            for log in logs
        ]
        if len({len(part) for part in parts}) != 1:
            raise Violation(f"ranks, pass {epoch}: not in equal parts: {parts}")
        _check_rows(specs[0], epoch, [row for part in parts for row in part], complete=True)


def _check_pass(spec: JobSpec, epoch: int, rows: list[int], complete: bool) -> None:
    _check_rows(spec, epoch, rows, complete)
    if spec.order in ("given", "told"):
        order = spec.rows if spec.order == "given" else spec.rows[::-1]
        if rows != order[: len(rows)]:
            raise Violation(f"{spec.name}, pass {epoch}: not in its order: {rows}")


def _check_rows(spec: JobSpec, epoch: int, rows: list[int], complete: bool) -> None:
    wanted, got = Counter(spec.rows), Counter(rows)
    twice, lost = got - wanted, wanted - got if complete else Counter()
    if twice or lost:
        raise Violation(
            f"{spec.name}, pass {epoch}: read too often {dict(twice)}, never {dict(lost)}"
        )
