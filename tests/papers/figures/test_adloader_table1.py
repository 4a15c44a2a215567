"""How well regressors predict, Table I of the A-Dloader paper."""

import numpy as np

from papers.figure import QUICK
from papers.figures import adloader_table1
from papers.figures.adloader_runs import ARCHITECTURES, TRAINING
from papers.models import training_rate


def test_a_line_predicts_networks_that_it_has_seen_and_no_others() -> None:
    first = next(adloader_table1.rows(0, QUICK, lambda: None))
    assert first.case == "training: linear"
    assert first.ours > 0.5
    features = training_rate.features(TRAINING, ARCHITECTURES)
    step_s = np.array([run.step_s for run in TRAINING])
    unknown = adloader_table1.held_out_whole("linear", features, step_s)
    assert unknown < 0.1  # who always says the mean has 0


def test_each_regressor_is_shown_for_each_kind_of_runs() -> None:
    shown = adloader_table1.FIGURE.steps(QUICK)
    assert shown == len(adloader_table1.FIGURE.panels) * len(adloader_table1.PAPER)
