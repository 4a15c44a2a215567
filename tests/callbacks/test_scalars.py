"""Figures are of what happened since they were taken last."""

from joader.callbacks.scalars import Scalars
from tests.callbacks.loader import NAMES, Loader


def test_figures_are_of_what_happened_since_they_were_taken_last() -> None:
    loader = Loader()
    loader.reads(1000, 1000, 50.0)
    scalars = Scalars(loader)
    loader.reads(40, 10, 0.0)
    first = scalars.take()
    assert set(first) == NAMES
    assert first["joader/saved"] == 0.25
    assert first["joader/samples_per_s"] > 0
    assert scalars.take() == dict.fromkeys(NAMES, 0.0)
    loader.reads(1, 0, 1e6)
    assert scalars.take()["joader/waiting"] == 1.0
