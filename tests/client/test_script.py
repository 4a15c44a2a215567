"""What a script was started with, as far as it tells runs apart; secrets stay in the process."""

import sys

import pytest

from joader.client.script import options, script


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("--lr 0.1 --amp", ["--lr 0.1", "--amp"]),
        ("--lr=0.1 -b 64", ["--lr 0.1", "-b 64"]),
        ("--mean -0.5 --gpus 0 1", ["--mean -0.5", "--gpus 0 1"]),
        ("resnet50 --lr 1", ["resnet50", "--lr 1"]),
        ("lr=0.1 model.depth=50 +seed=3", ["lr=0.1", "model.depth=50", "+seed=3"]),
        ("--set a --set b", ["--set a", "--set b"]),
        ("--hf-token abc --api_key=xyz wandb.key=1 --token_count 5", ["--token_count 5"]),
        ("--local-rank=1 --local_rank 1 --rank 2", ["--rank 2"]),
        ("", []),
    ],
)
def test_options_are_told_apart_however_they_are_written(line: str, found: list[str]) -> None:
    told = options(line.split())
    assert [text for _, text in told] == found
    assert len({key for key, _ in told}) == len(told)


def test_both_ways_to_write_a_value_are_one_option() -> None:
    assert options(["--lr", "0.1"]) == options(["--lr=0.1"]) == (("--lr", "--lr 0.1"),)


def test_a_notebook_has_none_and_half_characters_can_travel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["/lib/ipykernel_launcher.py", "-f", "kernel-1.json"])
    assert (script(), options()) == ("ipykernel_launcher.py", ())
    monkeypatch.setattr(sys, "argv", ["/home/train.py", "--name", "\udcff"])
    assert (script(), options()) == ("train.py", (("--name", "--name ?"),))
