"""An order that is made again from its key."""

import numpy as np

from joader.sampling.course import course

KEY = (1, 2, 3, 4)


def test_it_has_each_row_once_and_follows_from_key_and_rows_alone() -> None:
    rows = np.arange(100, 400, 3)
    order = course(KEY, rows)
    assert np.array_equal(np.sort(order), rows)
    assert not np.array_equal(order, rows)
    assert np.array_equal(order, course(KEY, rows[::-1].copy()))


def test_every_part_of_the_key_changes_it() -> None:
    orders = [course(KEY, range(50)).tolist()]
    orders += [
        course((*KEY[:part], 9, *KEY[part + 1 :]), range(50)).tolist()  # type: ignore[arg-type]
        for part in range(4)
    ]
    assert all(orders.count(order) == 1 for order in orders)
