"""What is said of samples that make no batch."""

import numpy as np

from joader.client.reading.passes import forms
from joader.memory import pack


def test_rows_are_told_by_form_the_most_usual_first() -> None:
    samples = [(np.zeros((4, 4), np.float32), 1)] * 10 + [(np.zeros(3, np.float32), 1), None]
    text = forms(range(12), [pack(sample).layout for sample in samples])
    assert "rows 0, 1, 2, 3, 4, 5, 6, 7 and 2 more: tuple(array f4[4, 4], int);" in text
    assert "; row 10: tuple(array f4[3], int); row 11: none." in text
    assert "prepare=" in text


def test_equal_samples_need_no_advice() -> None:
    text = forms([3], [pack({"image": 1, "label": "x"}).layout])
    assert text == "(joader) this batch was made of row 3: dict('image': int, 'label': str)."
