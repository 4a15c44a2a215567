"""Arguments that cannot be are refused with the value and what is allowed, before anything runs."""

import inspect
import pydoc
import re
import subprocess
import sys
from typing import Any

import pytest

import joader
from joader.client import torch_api
from joader.errors import BadArgument, UnknownArgument
from joader.messages import JobSettings

OF_TORCH = {
    *("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn"),
    *("pin_memory", "drop_last", "timeout", "worker_init_fn", "multiprocessing_context"),
    *("generator", "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order"),
}


class Length:
    """A dataset that says it is so long."""

    def __init__(self, length: Any) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length  # type: ignore[no-any-return]

    def __getitem__(self, row: int) -> int:
        return row


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout": "soon"}, "but got timeout='soon'; it is in seconds, 120 by default"),
        ({"timeout": None}, "got timeout=None"),
        ({"timeout": float("nan")}, "got timeout=nan"),
        ({"key": 5}, "key is 5; it is a text, or None"),
        ({"job": b"x"}, "job is b'x'; it is a text, or None"),
        ({"batch_size": 0}, "got batch_size=0"),
        ({"weight": 0}, "weight is 0; it is a number from"),
        ({"weight": float("nan")}, "weight is nan"),
        ({"weight": float("inf")}, "weight is inf"),
        ({"weight": "2"}, "weight is '2'"),
        ({"prepare": "Decode"}, "prepare is 'Decode'; it is a function of a sample"),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        joader.DataLoader([1, 2, 3], **given)


@pytest.mark.parametrize(
    "given",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"batch_size": 0},
        {"batch_size": None, "drop_last": True},
        {"sampler": [0], "shuffle": True},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_sampler": [[0]], "shuffle": True},
        {"prefetch_factor": 2},
        {"prefetch_factor": -1, "num_workers": 1},
        {"persistent_workers": True},
        {"multiprocessing_context": "fork"},
        {"multiprocessing_context": "none", "num_workers": 1},
    ],
    ids=str,
)
def test_what_torch_refuses_is_refused_with_its_words(given: dict[str, Any]) -> None:
    """Scripts look for them."""
    pytest.importorskip("torch.utils.data")
    with pytest.raises(ValueError, match=" ") as theirs:
        torch_api.original_loader()([1, 2, 3], **given)
    with pytest.raises(BadArgument) as ours:
        joader.DataLoader([1, 2, 3], **given)
    assert str(theirs.value)[:40] in str(ours.value)


@pytest.mark.parametrize(
    ("given", "locality"),
    [
        ({"shuffle": True}, True),
        ({}, False),
        ({"shuffle": True, "order": "joint"}, False),
        ({"shuffle": True, "order": "seeded"}, False),
        ({"shuffle": True, "locality": False}, False),
        ({"locality": True}, True),
    ],
    ids=str,
)
def test_what_the_daemon_acts_on_travels_as_one_value(
    given: dict[str, Any], locality: bool
) -> None:
    loader = joader.DataLoader([1, 2, 3], job="me", weight=2, lend=False, timeout=30, **given)
    assert loader._current.settings.job == JobSettings(
        "me", weight=2.0, lend=False, locality=locality, timeout_s=30.0
    )


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (2**40, r"of 1099511627776 rows; at most 4294967296"),
        (-1, "whose length is unknown"),
        ("x", "whose length is unknown"),
    ],
)
def test_a_length_that_cannot_be_is_said(length: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        joader.DataLoader(Length(length))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("batchsize", "did you mean batch_size?"),
        ("numworkers", "did you mean num_workers?"),
        ("Shuffle", "did you mean shuffle?"),
        ("xyzzy", "help(joader.DataLoader) lists them"),
    ],
)
def test_an_argument_that_does_not_exist_is_told_which_was_meant(name: str, said: str) -> None:
    with pytest.raises(UnknownArgument, match=rf"no argument '{name}'; {re.escape(said)}"):
        joader.DataLoader([1, 2, 3], **{name: 1})


def test_a_subclass_may_have_arguments_of_its_own() -> None:
    class Mine(joader.DataLoader):
        def __init__(self, batchsize: int = 3) -> None:
            super().__init__([1, 2, 3], batch_size=batchsize)

    assert Mine(batchsize=2).batch_size == 2
    assert list(inspect.signature(Mine).parameters) == ["batchsize"]


def test_help_and_signature_show_every_argument_with_type_and_default() -> None:
    signature = inspect.signature(joader.DataLoader)
    assert set(signature.parameters) > OF_TORCH
    assert str(signature.parameters["order"]) == (
        "order: Literal['shared', 'joint', 'seeded'] = 'shared'"
    )
    shown = pydoc.plain(pydoc.render_doc(joader.DataLoader))
    assert "class DataLoader" in shown
    assert "batch_size: int | None = 1" in shown.split("Iterate over batches")[0]


def test_every_argument_of_ours_has_an_entry_in_the_docstring() -> None:
    own = set(inspect.signature(joader.DataLoader).parameters) - OF_TORCH
    entries = re.findall(r"^ *`(\w+)`: ", joader.DataLoader.__doc__ or "", re.MULTILINE)
    assert sorted(entries) == sorted(own)


def test_the_first_use_loads_nothing_for_signatures_or_advice() -> None:
    script = "import joader, sys; joader.DataLoader([1]); print('difflib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
