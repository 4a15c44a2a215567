"""Classes by name, as the process that reads a sample finds them."""

from collections import OrderedDict

import pytest

from joader.errors import BadArgument
from joader.memory.classes import find, name_of


class Outer:
    class Inner:
        pass


def test_a_class_is_found_by_its_name() -> None:
    for cls in (OrderedDict, Outer, Outer.Inner):
        assert name_of(cls).count(":") == 1
    assert find(name_of(OrderedDict)) is OrderedDict
    assert name_of(Outer.Inner).endswith(":Outer.Inner")


def test_a_class_of_a_function_has_no_name_that_others_could_find() -> None:
    class Local:
        pass

    with pytest.raises(BadArgument, match="defined in a function"):
        name_of(Local)


@pytest.mark.parametrize("name", ["no_such_module:A", "collections:NoSuch", "collections:abc.No"])
def test_a_class_that_is_not_here_is_named(name: str) -> None:
    with pytest.raises(BadArgument, match="cannot be found in this process"):
        find(name)


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(BadArgument, match=r"os\.getpid is a builtin_function_or_method here"):
        find("os:getpid")
