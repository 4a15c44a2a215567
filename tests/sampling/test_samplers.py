"""What every sampler has to do, whatever its rule, and what each promises beyond."""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from joader.errors import BadArgument, BadRows, JobExists, NotEnoughRows, UnknownJob
from joader.sampling import (
    DependentSampler,
    IndependentSampler,
    LockstepSampler,
    Sampler,
    SeededSampler,
    SequentialSampler,
    StreamSampler,
)

MAKERS: dict[str, Callable[[], Sampler]] = {
    "dependent": lambda: DependentSampler(3),
    "paper": lambda: DependentSampler(3, rule="paper"),
    "common": lambda: DependentSampler(3, rule="common"),
    "independent": lambda: IndependentSampler(3),
    "seeded": lambda: SeededSampler(3),
    "sequential": SequentialSampler,
    "lockstep": lambda: LockstepSampler(3),
    "streams": lambda: StreamSampler(3),
}


@pytest.fixture(params=list(MAKERS))
def sampler(request: pytest.FixtureRequest) -> Sampler:
    return MAKERS[request.param]()


def test_a_pass_reads_every_row_once_and_the_next_pass_again(sampler: Sampler) -> None:
    rows = [4, 0, 9, 2**32 - 1, 17]
    for epoch in range(3):
        sampler.add("a", rows, epoch=epoch)
        sampler.add("b", rows, epoch=epoch)
        drawn = [sampler.draw({"a": n, "b": n}) for n in (2, 0, 3)]
        for job in ("a", "b"):
            assert sorted(np.concatenate([part[job] for part in drawn]).tolist()) == sorted(rows)
            assert sampler.remaining(job) == 0
            assert sampler.unread(job).size == 0


def test_unread_is_what_was_not_drawn(sampler: Sampler) -> None:
    sampler.add("a", range(10, 20))
    drawn = sampler.draw({"a": 4})["a"]
    assert drawn.dtype == np.int64
    assert sampler.unread("a").tolist() == sorted(set(range(10, 20)) - set(drawn.tolist()))
    assert sampler.remaining("a") == 6


@pytest.mark.parametrize("rows", [[], [0], [2**32 - 1]])
def test_empty_and_one_row_datasets_are_passes_too(sampler: Sampler, rows: list[int]) -> None:
    sampler.add("a", rows)
    assert sampler.draw({"a": len(rows)})["a"].tolist() == rows
    assert sampler.draw({"a": 0})["a"].tolist() == []
    sampler.add("a", rows)
    assert sampler.remaining("a") == len(rows)


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([1, 2, 1], "row 1 occurs more than once"),
        ([7, 4_000_000_000, 7], "row 7 occurs more than once"),
        ([3, -1], "row -1 is out of range"),
        ([2**32], "row 4294967296 is out of range"),
        ([[1, 2]], "one-dimensional"),
        (iter([1, 2]), "got list_iterator"),
        ({1, 2}, "got set"),
        (None, "got NoneType"),
        ([[1], [2, 3]], "ragged"),
        ([2**70], "out of range"),
        ([0.5], "integers"),
        (["a"], "integers"),
        ([True, False], "integers"),
    ],
)
def test_rows_that_are_no_set_of_rows_are_refused(
    sampler: Sampler, rows: object, word: str
) -> None:
    with pytest.raises(BadRows, match=word):
        sampler.add("a", rows)
    with pytest.raises(UnknownJob):
        sampler.remaining("a")


def test_errors_change_nothing(sampler: Sampler) -> None:
    sampler.add("a", range(10))
    sampler.draw({"a": 3})
    left = sampler.unread("a").tolist()
    wrong: list[tuple[type[Exception], Callable[[], object]]] = [
        (JobExists, lambda: sampler.add("a", range(10))),
        (NotEnoughRows, lambda: sampler.draw({"a": 8})),
        (UnknownJob, lambda: sampler.draw({"a": 1, "b": 1})),
        (UnknownJob, lambda: sampler.remove("b")),
        (UnknownJob, lambda: sampler.unread("b")),
        (BadArgument, lambda: sampler.draw({"a": -1})),
        (BadArgument, lambda: sampler.draw({"a": 1.5})),  # type: ignore[dict-item]
        (BadArgument, lambda: sampler.draw({"a": True})),
        (BadArgument, lambda: sampler.add("b", range(3), epoch=-1)),
    ]
    for error, call in wrong:
        with pytest.raises(error):
            call()
        assert sampler.unread("a").tolist() == left
    assert sorted(sampler.draw({"a": 7})["a"].tolist()) == left


def test_errors_are_also_the_builtin_ones_a_caller_expects(sampler: Sampler) -> None:
    sampler.add("a", range(3))
    with pytest.raises(ValueError, match="asks for 4 rows but has 3 left"):
        sampler.draw({"a": 4})
    with pytest.raises(KeyError, match="job 'b' is not in the sampler, which has: 'a'"):
        sampler.draw({"b": 1})


def test_a_removed_job_is_gone_and_may_come_back(sampler: Sampler) -> None:
    sampler.add("a", range(5))
    sampler.draw({"a": 2})
    sampler.remove("a")
    with pytest.raises(UnknownJob):
        sampler.draw({"a": 1})
    sampler.add("a", range(5))
    assert sampler.remaining("a") == 5


def test_the_callers_arrays_stay_his(sampler: Sampler) -> None:
    rows = np.arange(6)
    sampler.add("a", rows)
    rows[:] = 99
    first = sampler.draw({"a": 3})["a"]
    kept = first.copy()
    first[:] = -1
    assert sorted([*kept.tolist(), *sampler.draw({"a": 3})["a"].tolist()]) == list(range(6))


def draws(sampler: Sampler) -> list[list[int]]:
    result = []
    sampler.add("a", range(60))
    sampler.add("b", range(60))
    for _ in range(3):
        result += [rows.tolist() for rows in sampler.draw({"a": 9, "b": 9}).values()]
    return result


@pytest.mark.parametrize("name", list(MAKERS))
def test_equal_seeds_and_calls_give_equal_draws(name: str) -> None:
    assert draws(MAKERS[name]()) == draws(MAKERS[name]())


# Drawn once and kept: these must never change, on any machine, with any version of NumPy. The first
# of each pair is drawn by array operations (one job), the second round by round (three jobs).
KEPT = {
    "dependent": ([793, 33, 70, 98, 53, 696], [855, 855, 855]),
    "paper": ([793, 33, 70, 98, 53, 696], [955, 955, 603]),
    "common": ([793, 33, 70, 98, 53, 696], [429, 504, 504]),
    "independent": ([754, 940, 975, 901, 347, 633], [809, 1490, 411]),
    "seeded": ([698, 986, 105, 194, 987, 116], [786, 614, 39]),
    "sequential": ([0, 1, 2, 3, 4, 5], [125, 559, 87]),
    "lockstep": ([646, 739, 593, 855, 725, 211], []),
    "streams": ([158, 635, 647, 218, 703, 824], [536, 536, 645]),  # unequal sets: joint draws
}


def kept_draws(name: str) -> tuple[list[int], list[int]]:
    sampler = MAKERS[name]()
    sampler.add("a", range(1000))
    first = sampler.draw({"a": 6})["a"].tolist()
    if name == "lockstep":
        return first, []
    sampler.add("b", range(500, 1500))
    sampler.add("c", range(0, 1500, 3))
    drawn = [sampler.draw({"a": 40, "b": 20, "c": 10}) for _ in range(3)][-1]
    return first, [int(rows[-1]) for rows in drawn.values()]


@pytest.mark.parametrize("name", list(MAKERS))
def test_draws_are_those_of_all_other_machines(name: str) -> None:
    assert kept_draws(name) == KEPT[name]


def test_equal_counts_in_another_order_are_the_same_call() -> None:
    drawn = []
    for order in (["a", "b", "c"], ["c", "b", "a"]):
        sampler = DependentSampler(3)
        for number, job in enumerate(("a", "b", "c")):
            sampler.add(job, range(10 * number, 60))
        drawn.append(sampler.draw(dict.fromkeys(order, 9)))
    assert all(drawn[0][job].tolist() == drawn[1][job].tolist() for job in "abc")


def test_one_seed_gives_different_samplers_different_orders() -> None:
    orders = []
    for make in (
        IndependentSampler,
        SeededSampler,
        LockstepSampler,
        DependentSampler,
        StreamSampler,
    ):
        sampler = make(7)
        sampler.add("a", range(50))
        orders.append(tuple(sampler.draw({"a": 50})["a"].tolist()))
    assert len(set(orders)) == len(orders)


@pytest.mark.parametrize("hash_seed", ["0", "1", "2"])
def test_draws_do_not_depend_on_hash_seeds(hash_seed: str) -> None:
    code = (
        "from joader.sampling import DependentSampler as D\n"
        "s = D(11)\n"
        "for k in range(7): s.add(f'job{k}', range(k, 40 + 3 * k))\n"
        "draws = [s.draw({f'job{k}': n + k for k in range(7)}) for n in (5, 3)]\n"
        "print([r.tolist() for drawn in draws for r in drawn.values()])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    s = DependentSampler(11)
    for k in range(7):
        s.add(f"job{k}", range(k, 40 + 3 * k))
    here = [
        rows.tolist()
        for n in (5, 3)
        for rows in s.draw({f"job{k}": n + k for k in range(7)}).values()
    ]
    assert run.stdout.strip() == str(here)


def test_seeded_order_depends_on_rows_seed_and_epoch_only() -> None:
    alone, among = SeededSampler(5), SeededSampler(5)
    alone.add("x", range(50), epoch=2)
    among.add("y", range(30))
    among.draw({"y": 13})
    among.add("x", list(reversed(range(50))), epoch=2)
    order = alone.draw({"x": 50})["x"].tolist()
    assert among.draw({"x": 50})["x"].tolist() == order
    for other in (SeededSampler(6), SeededSampler(5)):
        other.add("x", range(50), epoch=2 if other._seed == 6 else 3)
        assert other.draw({"x": 50})["x"].tolist() != order


def test_sequential_keeps_the_order_given() -> None:
    sampler = SequentialSampler()
    sampler.add("a", [5, 1, 3])
    assert sampler.draw({"a": 2})["a"].tolist() == [5, 1]


def test_lockstep_gives_all_jobs_the_same_rows_at_the_same_pace() -> None:
    sampler = LockstepSampler(0)
    sampler.add("a", range(8))
    sampler.add("b", range(8))
    drawn = sampler.draw({"a": 4, "b": 4})
    assert drawn["a"].tolist() == drawn["b"].tolist()
    for counts in ({"a": 1, "b": 2}, {"a": 1}):
        with pytest.raises(BadArgument, match="the same count"):
            sampler.draw(counts)
    with pytest.raises(BadArgument, match="in the middle of a pass"):
        sampler.add("c", range(8))


def test_lockstep_refuses_other_rows() -> None:
    sampler = LockstepSampler(0)
    sampler.add("a", range(8))
    with pytest.raises(BadRows, match="different rows"):
        sampler.add("b", range(7))


@pytest.mark.parametrize(
    "make", [DependentSampler, IndependentSampler, SeededSampler, LockstepSampler, StreamSampler]
)
@pytest.mark.parametrize("seed", [-1, 1.5, "x", None, True])
def test_a_seed_is_a_non_negative_integer(make: Callable[[object], Sampler], seed: object) -> None:
    with pytest.raises(BadArgument, match="seed is"):
        make(seed)
