"""Classes by name, as the process that reads a sample finds them."""

from collections import OrderedDict, namedtuple

import pytest

from joader.errors import BadArgument
from joader.memory.classes import CannotTravel, find, name_of


class Holder:
    Pair = namedtuple("Pair", ["left", "right"])


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

    with pytest.raises(CannotTravel, match=r"Local of .* cannot be found"):
        name_of(Local)


def test_a_class_that_another_one_has_the_name_of_cannot_travel() -> None:
    nested = namedtuple("Outer", ["label"])  # its name is that of the one above
    for cls in (nested, Holder.Pair):
        with pytest.raises(CannotTravel):
            name_of(cls)


@pytest.mark.parametrize("name", ["no_such_module:A", "collections:NoSuch", "collections:abc.No"])
def test_a_class_that_is_not_here_is_named(name: str) -> None:
    with pytest.raises(BadArgument, match="cannot be found in this process"):
        find(name)


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(BadArgument, match=r"os\.getpid is a builtin_function_or_method here"):
        find("os:getpid")
