"""The results of the demo: a table for people, a dictionary for programs."""

from dataclasses import asdict
from typing import Any

from rich.table import Table

from joader.cli.demo.side import Plan, Side


def as_table(torch: Side, joader: Side) -> Table:
    """Put both sides next to each other: one line per job, and the total cost."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in ("torch", "joader"):
        table.add_column(f"{name}\nsamples/s", justify="right", style="bold")
        table.add_column("\nloss", justify="right")
        table.add_column("\nacc.", justify="right")
    table.add_column("")
    for ours, theirs in zip(joader.jobs, torch.jobs, strict=True):
        cells = [
            [f"{job.rate:,.0f}", f"{job.loss:.3f}", f"{job.accuracy:.0%}"] for job in (theirs, ours)
        ]
        table.add_row(ours.name, *cells[0], *cells[1], f"{ours.rate / theirs.rate:.1f} ×")
    table.add_row(
        "all together",
        *(f"{torch.rate:,.0f}", "", "", f"{joader.rate:,.0f}", "", ""),
        f"{joader.rate / torch.rate:.1f} ×",
    )
    table.add_section()
    for name, figures in {
        "seconds": (f"{torch.seconds:.1f}", f"{joader.seconds:.1f}"),
        "CPU seconds": (f"{torch.cpu:.1f}", f"{joader.cpu:.1f}"),
        "prepared ÷ delivered": (f"{_ratio(torch):.2f}", f"{_ratio(joader):.2f}"),
    }.items():
        table.add_row(name, figures[0], "", "", figures[1], "", "", "")
    return table


def as_figures(plan: Plan, cores: int, sides: list[Side]) -> dict[str, Any]:
    """Return everything that was measured, for programs."""
    return {
        **asdict(plan),
        "cores": cores,
        "torch_workers_per_job": plan.workers_per_job,
        "sides": {side.name: _figures(side) for side in sides},
        "samples_per_s_ratio": round(sides[1].rate / sides[0].rate, 3),
    }


def _figures(side: Side) -> dict[str, Any]:
    return {
        "samples_per_s": round(side.rate, 1),
        "seconds": round(side.seconds, 2),
        "cpu_seconds": round(side.cpu, 2),
        "prepared": side.prepared,
        "delivered": side.delivered,
        "prepared_per_delivered": round(_ratio(side), 4),
        "jobs": [
            {
                "name": job.name,
                "samples_per_s": round(job.rate, 1),
                "loss": round(job.loss, 4),
                "accuracy": round(job.accuracy, 4),
            }
            for job in side.jobs
        ],
    }


def _ratio(side: Side) -> float:
    return side.prepared / side.delivered
