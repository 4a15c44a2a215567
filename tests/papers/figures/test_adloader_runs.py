"""The measured runs that A-Dloader's models are fitted to agree with themselves."""

from collections import Counter

import pytest

from papers.figures.adloader_runs import ARCHITECTURES, LOADING, PROCESSORS, TRAINING


def test_every_architecture_was_trained_with_every_batch() -> None:
    batches = {run.batch for run in TRAINING}
    assert Counter((run.architecture, run.batch) for run in TRAINING) == {
        (name, batch): 1 for name in ARCHITECTURES for batch in batches
    }


def test_workers_report_the_rate_that_their_times_come_to() -> None:
    for run in LOADING:
        assert run.rows_per_s == pytest.approx(run.workers / (run.read_s + run.prepare_s), rel=0.02)


def test_no_row_took_more_processor_time_than_time_nor_more_than_there_is() -> None:
    for run in LOADING:
        assert run.computed_s <= run.prepare_s
        assert run.rows_per_s * run.computed_s <= 1.01 * PROCESSORS
