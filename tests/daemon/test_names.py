"""Runs of one script are told apart by what differs between them, and by nothing else."""

from joader.daemon.names import MOST_LETTERS, Names, Run, labels, shortened


def run(**options: str) -> Run:
    return Run("train.py", tuple((key, f"--{key} {value}") for key, value in options.items()))


def test_a_script_that_runs_once_is_called_as_it_is() -> None:
    assert labels({1: run(lr="0.1", epochs="9")}) == {1: "train.py"}


def test_what_differs_between_runs_is_said_and_the_rest_is_not() -> None:
    runs = {1: run(lr="0.1", epochs="9"), 2: run(lr="0.01", epochs="9"), 3: Run("other.py")}
    assert labels(runs) == {1: "train.py --lr 0.1", 2: "train.py --lr 0.01", 3: "other.py"}


def test_an_option_that_one_run_does_not_have_tells_it_apart() -> None:
    both = {1: run(lr="0.1"), 2: run(lr="0.1", amp="on")}
    assert labels(both) == {1: "train.py", 2: "train.py --amp on"}


def test_equal_runs_have_equal_names_and_ranks_say_which() -> None:
    ranks = {number: Run("ddp.py", (), rank=number - 1) for number in (1, 2)}
    assert labels(ranks) == {1: "ddp.py, rank 0", 2: "ddp.py, rank 1"}
    assert labels({1: run(lr="1"), 2: run(lr="1")}) == {1: "train.py", 2: "train.py"}


def test_a_run_that_differs_in_something_new_changes_the_names_of_those_before() -> None:
    names = Names()
    assert names.join(1, run(lr="0.1", seed="3")) == {1: "train.py"}
    assert names.join(2, run(lr="0.2", seed="3")) == {
        1: "train.py --lr 0.1",
        2: "train.py --lr 0.2",
    }
    assert names.join(3, run(lr="0.2", seed="3")) == {3: "train.py --lr 0.2"}
    changed = names.join(4, run(lr="0.1", seed="4"))
    assert changed[1] == "train.py --lr 0.1 --seed 3"
    names.keep([2, 4])
    assert names.labels == {2: "train.py --lr 0.2 --seed 3", 4: "train.py --lr 0.1 --seed 4"}
    assert names.join(5, Run("other.py")) == {5: "other.py"}


def test_long_names_are_cut_in_the_middle_because_sweeps_differ_at_the_end() -> None:
    path = "/scratch/" + "deep/" * 100 + "run-"
    (first, second) = labels({n: run(out=f"{path}{n}") for n in (1, 2)}).values()
    assert first.startswith("train.py --out /scratch/deep")
    assert first.endswith("/run-1")
    assert second.endswith("/run-2")
    assert len(first) <= MOST_LETTERS
    assert shortened("sweep-convnext-tiny-seed3", 11) == "sweep…seed3"
    assert shortened("train.py", 8) == "train.py"
    assert shortened("train.py", 1) == "…"


def test_a_client_may_say_what_it_likes_and_what_is_kept_of_it_is_bounded() -> None:
    names = Names()
    for job in (1, 2):
        options = tuple((f"{n}" * 9000, f"{job}{n}" * 9000) for n in range(500))
        names.join(job, Run("x" * 9000, options))
    assert all(len(label) <= MOST_LETTERS for label in names.labels.values())
    assert sum(len(text) for run in names._runs.values() for _, text in run.options) < 20_000
