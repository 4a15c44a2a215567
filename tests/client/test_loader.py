"""What a loader says before it has met a daemon."""

import pytest

from joader import DataLoader
from joader.errors import BadArgument


class Rows:
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> int:
        return row


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"batch_size": 0}, "got batch_size=0"),
        ({"batch_size": 2.5}, "got batch_size=2.5"),
        ({"batch_size": True}, "got batch_size=True"),
        ({"order": "best"}, "order is 'best'; there are shared, joint, seeded"),
        ({"timeout": -1}, "got timeout=-1"),
        ({"fallback": "never"}, "fallback is 'never'; it is True or False"),
        ({"on_error": "ignore"}, "on_error is 'ignore'; there are raise, skip, replace"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], word: str) -> None:
    with pytest.raises(BadArgument, match=word):
        DataLoader(Rows(3), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "batch", "drop_last", "length"),
    [(10, 3, False, 4), (10, 3, True, 3), (9, 3, False, 3), (0, 3, False, 0), (2, 3, True, 0)],
)
def test_the_length_is_the_number_of_batches(
    rows: int, batch: int, drop_last: bool, length: int
) -> None:
    assert len(DataLoader(Rows(rows), batch, drop_last=drop_last)) == length


def test_an_epoch_is_a_number_from_zero_on() -> None:
    with pytest.raises(BadArgument, match="epoch is -1"):
        DataLoader(Rows(3)).set_epoch(-1)


def test_a_new_loader_has_a_state_and_no_figures() -> None:
    loader = DataLoader(Rows(3), 2)
    assert loader.state_dict()["epoch"] == 0
    assert loader.stats().delivered == 0
    loader.load_state_dict(loader.state_dict())
    loader.close()
