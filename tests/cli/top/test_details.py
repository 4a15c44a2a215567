"""One job with all that is known about it."""

import io
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console, RenderableType

from joader.cli.top.bars import FINE, PLAIN
from joader.cli.top.details import details
from joader.statistics import JobMomentStatistics, MomentStatistics
from tests.cli.top.node import JOBS, NODE


def shown(what: RenderableType, width: int, terminal: bool = False) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, force_terminal=terminal, color_system=None).print(what)
    return file.getvalue().splitlines()


def test_details_say_from_whom_samples_came_and_how_it_went() -> None:
    moments = [
        MomentStatistics(time=t, seconds=1.0, jobs={1: JobMomentStatistics(samples_per_s=10.0 * t)})
        for t in range(1, 9)
    ]
    lines = shown(details(JOBS[0], NODE, moments, FINE), 80)
    text = "\n".join(lines)
    assert "▂▃▄▅▅▆▇█" in text or "▂▃▄▅▆▇█" in text
    assert "up to 80" in text
    assert JOBS[0].diagnosis.says in " ".join(text.split())
    assert "250 of 1,000 samples, 15s left" in text
    assert any(line.endswith("250") and "[red]resnet" in line for line in lines)
    assert max(map(cell_len, lines)) <= 80


def test_samples_of_jobs_that_left_are_one_line_and_what_is_not_known_is_said() -> None:
    job = replace(JOBS[0], taken_from={JOBS[1].id: 30, 98: 20, 99: 10}, row_s=0.0, time_left_s=None)
    text = "\n".join(shown(details(job, NODE, [], PLAIN), 100))
    assert "2 jobs that left" in text
    assert "not known yet" in text
    assert " left" not in text.split("samples taken from", maxsplit=1)[0].split("samples")[0]
    alone = "\n".join(shown(details(replace(job, taken_from={}), NODE, [], PLAIN), 100))
    assert "samples taken from" not in alone


def test_a_job_that_has_ended_shows_when_and_how_fast_it_was_in_all() -> None:
    job = replace(JOBS[0], ended=3600.0, began=3000.0, time_left_s=None, waiting=0.25)
    past = replace(JOBS[0], id=9, label="train.py --lr 0.1", ended=10.0)
    node = replace(NODE, time=3660.0)
    text = "\n".join(
        shown(details(replace(job, taken_from={9: 40}), node, [], FINE, (past, job)), 100)
    )
    assert "1:00 ago, after 10:00, in which it got 50 samples/s" in text
    assert "25% of its time" in text
    assert "#9  train.py --lr 0.1" in text
    assert "workers" not in text.split("time saved")[1].split("samples/s")[1]
