"""A long list of strings as two arrays."""

import pickle

import numpy as np

from joader.storage.names import Names

TEXTS = ["a", "", "ü/x.jpg", "b" * 300, ""]


def test_strings_come_back_in_any_order_and_number() -> None:
    names = Names.of(TEXTS)
    assert list(names) == TEXTS
    assert len(names) == 5
    assert names.take(np.array([3, 0, 2, 0])) == [TEXTS[3], "a", TEXTS[2], "a"]
    assert [names.take(np.array([at])) for at in range(5)] == [[text] for text in TEXTS]
    assert names.take(np.array([], np.int64)) == []


def test_names_that_are_no_text_come_back_as_the_system_has_them() -> None:
    names = Names.of([b"\xff\xfe.jpg", "a"])
    assert names.encoded(np.array([0, 1])) == [b"\xff\xfe.jpg", b"a"]
    assert Names.of(list(names)).blob == names.blob


def test_they_travel() -> None:
    assert list(pickle.loads(pickle.dumps(Names.of(TEXTS)))) == TEXTS


def test_there_may_be_none() -> None:
    assert list(Names.of([])) == []
