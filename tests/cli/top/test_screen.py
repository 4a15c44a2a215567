"""What is on the screen: all that matters at 80 columns, all there is at 200, nothing wider."""

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from joader.cli.top.bars import FINE, PLAIN, Glyphs
from joader.cli.top.screen import overview
from joader.cli.top.view import View
from joader.statistics import DiagnosisStatistics, NodeStatistics
from tests.cli.top.node import CLUSTER, JOBS, NODE


def shown(what: RenderableType, width: int, terminal: bool = False) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, force_terminal=terminal, color_system=None).print(what)
    return file.getvalue().splitlines()


def screen(width: int, height: int = 40, node: NodeStatistics = NODE, **more: object) -> list[str]:
    view = View(**more)  # type: ignore[arg-type]
    return shown(overview(node, view, width, height, FINE), width)


@pytest.mark.parametrize("width", [40, 80, 132, 200])
@pytest.mark.parametrize("glyphs", [FINE, PLAIN])
def test_no_line_is_wider_than_the_screen(width: int, glyphs: Glyphs) -> None:
    lines = shown(overview(NODE, View(), width, 40, glyphs), width)
    assert max(map(cell_len, lines)) <= width


def test_at_80_columns_all_that_matters_is_there() -> None:
    text = "\n".join(screen(80))
    assert "75% of the work saved, 1:30 of CPU time: 1,200 delivered, 300 prepared" in text
    assert "1.5 of 2 cores, 140 prepared/s → 570 delivered/s" in text
    assert "96.0 MiB of 128.0 MiB" in text
    assert "5,000 to come → 40 planned → 30 preparing → 20 ready → 10 in use" in text
    assert "Photos of 1,000 rows, shares with 2" in text
    assert "It waits 60% of the time: other programs have the cores" in text
    assert "vit" in text and "字幕モデル, rank 1" in text and "flowers@2" in text  # noqa: PT018
    first = next(line for line in screen(80) if " vit " in line)
    assert first.split() == [
        "▸",
        "1",
        "vit",
        "2",
        "██░░░░░░",
        "25%",
        "15s",
        "50",
        "10%",
        "75%",
        "0%",
    ]


def test_at_200_columns_a_job_has_one_line_with_counts() -> None:
    lines = screen(200)
    titles = next(line for line in lines if "JOB" in line)
    assert all(word in titles for word in ("DATASET", "SHARES WITH", "PREPARED", "HITS", "LIMIT"))
    (line,) = [line for line in lines if " vit " in line]
    assert "Photos of 1,000 rows" in line
    assert "It waits 10% of the time" in line


def test_who_has_a_short_name_leaves_room_for_what_limits_it() -> None:
    says = "It waits 2% of the time: training is the limit."
    limit = DiagnosisStatistics(kind="training", says=says)
    named = zip(JOBS, "abc", strict=True)
    jobs = tuple(replace(job, label=name, diagnosis=limit) for job, name in named)
    lines = screen(200, node=replace(NODE, jobs=jobs))
    assert sum(line.endswith(says) for line in lines) == 3


def test_what_limits_the_node_is_said_in_full_at_any_width() -> None:
    for width in (80, 200):
        text = " ".join(" ".join(screen(width)).split())
        assert f"limit {NODE.diagnosis.says} {NODE.diagnosis.do} JOB" in text


def test_a_job_has_as_many_lines_as_there_is_room_for() -> None:
    for height, reads, limits in ((40, 3, 2), (18, 0, 2), (16, 0, 0)):
        text = "\n".join(screen(80, height))
        assert len(text.splitlines()) <= height
        assert text.count("shares with") == reads
        assert text.count("It waits") == limits


def test_columns_stand_below_their_titles() -> None:
    lines = screen(80)
    titles = next(line for line in lines if "JOB" in line)
    for line in (one for one in lines if "25%" in one):
        # By cells: letters of some scripts are two cells wide.
        cells = "".join(c + " " * (cell_len(c) - 1) for c in line)
        assert cells[titles.index("DONE")] == "█"


def test_names_cannot_control_the_terminal_and_are_no_markup() -> None:
    text = "\n".join(screen(200))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[31m[red]" in text
    assert "[bold]Photos" in text


def test_a_low_screen_shows_the_selected_job() -> None:
    many = NodeStatistics(jobs=tuple(replace(JOBS[0], id=n) for n in range(1, 31)))
    text = "\n".join(screen(80, 16, many, selected=25))
    assert "▸  25" in text
    assert "more" in text


@pytest.mark.parametrize("width", [80, 200])
def test_in_a_cluster_all_nodes_are_shown(width: int) -> None:
    lines = screen(width, node=replace(NODE, cluster=CLUSTER))
    assert max(map(cell_len, lines)) <= width
    text = "\n".join(lines)
    assert "3 nodes, this is gpu2; 4,575 rows came from others, 4,467 went to" in text
    assert "67% of the work saved on 3 nodes: 9,000 delivered, 3,000 prepared" in text
    (first,) = [line for line in lines if line.lstrip().startswith("node1")]
    assert first.split() == [
        *("node1", "16", "████░░░░", "512.0", "MiB", "1,230", "4,488", "4,531", "linked")
    ]
    assert any(line.endswith("this one") for line in lines)
    assert "\x1b" not in text
    (other,) = [line for line in lines if line.endswith("not linked")]
    assert "[red]" in other


def test_on_a_low_screen_jobs_come_before_nodes() -> None:
    lines = screen(80, 14, replace(NODE, cluster=CLUSTER))
    assert len(lines) <= 14
    assert any("3 nodes" in line for line in lines)
    assert any(" vit " in line for line in lines)


def test_without_jobs_and_samples_it_says_so() -> None:
    text = "\n".join(screen(80, node=NodeStatistics()))
    assert "No samples delivered yet" in text
    assert "No job reads now" in text


ENDED = tuple(
    replace(JOBS[0], id=n, label=f"train.py --lr 0.{n}", ended=100.0 + n, began=40.0, waiting=0.9)
    for n in range(11, 16)
)


def test_jobs_that_have_ended_are_below_the_others_as_far_as_there_is_room() -> None:
    lines = shown(overview(NODE, View(), 80, 40, FINE, ENDED), 80)
    numbers = [line.split()[0] for line in lines if "ended" in line]
    assert numbers == ["15", "14", "13", "12", "11"]
    assert all(line.split()[-1] == "-" for line in lines if "ended" in line)
    for height in range(12, 24):
        low = shown(overview(NODE, View(), 80, height, FINE, ENDED), 80)
        assert sum(" vit " in line for line in low) == 1
        assert len(low) <= height
    alone = shown(overview(replace(NODE, jobs=()), View(), 80, 40, FINE, ENDED), 80)
    assert any("No job reads now" in line for line in alone)
    assert sum("ended" in line for line in alone) == 5


def test_a_job_that_has_ended_can_be_selected_on_a_low_screen() -> None:
    view = View(selected=11)
    lines = shown(overview(NODE, view, 80, 14, FINE, ENDED), 80)
    (line,) = [line for line in lines if line.startswith("▸")]
    assert line.split()[1:5] == ["11", "train.py", "--lr", "0.11"]


def test_long_names_are_cut_in_the_middle() -> None:
    jobs = tuple(replace(JOBS[0], id=n, label=f"sweep-{'x' * 60}-seed{n}") for n in (1, 2))
    for width in (80, 160):
        text = "\n".join(screen(width, node=replace(NODE, jobs=jobs)))
        assert "seed1 " in text
        assert "seed2 " in text
