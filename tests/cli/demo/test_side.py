"""A side of the demo: one line of the script differs, and its jobs have rates."""

from pathlib import Path

from joader.cli.demo.side import JOADER_LINE, TORCH_LINE, Job


def test_the_script_has_the_one_line_that_is_changed() -> None:
    import joader.cli.demo.side as side

    script = Path(side.__file__).with_name("train.py").read_text()
    assert script.count(TORCH_LINE) == 1
    assert JOADER_LINE not in script


def test_a_job_that_has_not_started_has_no_rate() -> None:
    assert Job("a", 10).rate == 0.0
