"""Which node draws for all: the same on every node that has heard the same."""

from joader.schedule.nodes.drawing import drawer


def test_who_came_first_draws_of_those_who_can() -> None:
    assert drawer(["a", "b", "c"], {"c": False, "b": False}) == "b"


def test_who_draws_for_others_already_goes_on() -> None:
    assert drawer(["a", "b", "c"], {"a": False, "c": True}) == "c"
    assert drawer(["a", "b", "c"], {"a": True, "c": True}) == "a"


def test_who_has_gone_draws_for_nobody() -> None:
    assert drawer(["b"], {"a": True, "b": False}) == "b"
    assert drawer(["b"], {"a": True}) == ""
