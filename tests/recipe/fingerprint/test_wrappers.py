"""Objects that stand for others count by what they stand for, and using them changes nothing."""

import contextvars
import functools
import io
import multiprocessing
import weakref
from typing import Any

import pytest

from joader.recipe.fingerprint import fingerprint, look


class Box:
    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        vars(self).update(attributes)


def one(value: Any) -> Any:
    return value + 1


def two(value: Any) -> Any:
    return value + 2


def dispatching(*rules: tuple[type, Any]) -> Any:
    @functools.singledispatch
    def read(value: Any) -> Any:
        return value

    for kind, rule in rules:
        read.register(kind, rule)
    return read


def test_a_singledispatch_function_counts_by_its_registry():
    read = dispatching((int, one), (str, two))
    before = fingerprint(read)
    assert read(3) == 4
    assert read(2.5) == 2.5
    assert fingerprint(read) == before == fingerprint(dispatching((str, two), (int, one)))
    others = [dispatching((int, two), (str, one)), dispatching((int, one)), dispatching()]
    assert len({before, *map(fingerprint, others)}) == 4
    read.register(list, one)
    assert fingerprint(read) != before
    read.option = 1
    assert fingerprint(read) != fingerprint(dispatching((int, one), (str, two), (list, one)))


def test_a_context_variable_counts_by_its_value_now():
    variable = contextvars.ContextVar("size", default=1)
    unset = contextvars.ContextVar("size")
    dataset = Box(size=variable)
    before = fingerprint(dataset)
    assert fingerprint(Box(size=unset)) != before
    token = variable.set(2)
    assert look(Box(token=token)).opaque == ""
    assert fingerprint(dataset) != before
    variable.reset(token)
    assert fingerprint(dataset) == before
    context = contextvars.copy_context()
    inside = fingerprint(Box(context=context))
    context.run(variable.set, 5)
    assert fingerprint(Box(context=context)) != inside


def test_weak_references_and_their_callbacks_have_no_state():
    target = Box()
    plain, calling = weakref.ref(target), weakref.ref(target, lambda _: None)
    assert fingerprint(plain) == fingerprint(calling)
    assert look(Box(end=weakref.finalize(target, one, 1))).opaque == ""
    assert look(Box(method=weakref.WeakMethod(Box.__init__.__get__(target)))).opaque == ""


class Lazy:
    @functools.cached_property  # it has a lock in Python 3.11
    def table(self) -> int:
        return 3


class OtherLazy:
    @functools.cached_property
    def table(self) -> int:
        return 4


def test_a_cached_property_counts_by_its_function():
    assert look(Lazy()).opaque == ""
    assert fingerprint(Lazy()) != fingerprint(OtherLazy())


def test_a_progress_bar_counts_by_what_it_goes_through():
    tqdm = pytest.importorskip("tqdm")
    bars = [tqdm.tqdm(rows, file=io.StringIO()) for rows in ([1, 2], [1, 2], [1, 3])]
    before = [fingerprint(Box(bar=bar)) for bar in bars]
    assert before[0] == before[1] != before[2]
    assert list(bars[0]) == [1, 2]
    assert fingerprint(Box(bar=bars[0])) == before[0]
    for bar in bars:
        bar.close()
    assert fingerprint(Box(bar=bars[1])) == before[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
def test_a_compiled_function_counts_by_the_function():
    torch = pytest.importorskip("torch")
    compiled = functools.partial(torch.compile, backend="eager")
    same, other = compiled(one), compiled(two)
    assert fingerprint(compiled(one)) == fingerprint(same) != fingerprint(other)
    relu, tanh = compiled(torch.nn.ReLU()), compiled(torch.nn.Tanh())
    assert look([relu, same]).opaque == ""
    assert fingerprint(relu) == fingerprint(compiled(torch.nn.ReLU())) != fingerprint(tanh)


def test_locks_between_processes_have_no_state():
    assert fingerprint(multiprocessing.Lock()) == fingerprint(multiprocessing.Lock())
    assert "Synchronized" in look(multiprocessing.Value("i", 1)).opaque


class Unguarded:
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_an_object_that_delegates_everything_is_walked_once():
    dataset = Unguarded(Box(size=1))
    assert look(dataset).opaque == ""
    assert fingerprint(dataset) == fingerprint(Unguarded(Box(size=1)))
    assert fingerprint(dataset) != fingerprint(Unguarded(Box(size=2)))
    endless = Unguarded.__new__(Unguarded)  # asks itself for `inner` for ever
    with pytest.raises(RecursionError):
        _ = endless.anything
    assert look(endless).name == look(endless).name
    around = Unguarded(None)
    around.inner = around
    assert look([around] * 100).opaque == ""
