"""A handle is opened once in each process."""

import pickle

from joader.storage.per_process import PerProcess


def test_a_handle_is_left_alone_by_a_child_and_left_out_by_pickle() -> None:
    handle = PerProcess(list)
    assert handle.get() is handle.get()
    handle.get().append(1)
    assert pickle.loads(pickle.dumps(handle)).get() == []
    assert handle.take() == [1]
    assert handle.take() is None
    assert handle.get() == []
