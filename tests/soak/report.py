"""What a soak found, as JSON or as a page."""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from joader.version import __version__

if TYPE_CHECKING:
    from tests.soak.soak import Soak


def figures(
    soak: "Soak", seconds: float, options: argparse.Namespace, broken: str
) -> dict[str, Any]:
    """Return the counts of a soak, and what its daemons used."""
    samples = soak.meter.samples
    return {
        "verdict": "broken" if broken else "no promise broke",
        "broken": broken,
        "version": __version__,
        "seed": options.seed,
        "minutes": round(seconds / 60, 1),
        "budget_mib": options.memory_mib,
        "workers": options.workers,
        "rows_read": soak.crowd.rows,
        "counts": dict(sorted(soak.counts.items())),
        "samples": len(samples),
        "most_jobs": max((s.jobs for s in samples), default=0),
        "daemon_mib": _spread([s.own_bytes / 2**20 for s in samples]),
        "descriptors": _spread([s.descriptors for s in samples]),
        "used_mib": _spread([s.used_bytes / 2**20 for s in samples]),
        "pinned_mib": _spread([s.pinned_bytes / 2**20 for s in samples]),
    }


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    tenth = max(len(values) // 10, 1)
    return {
        "first_tenth": round(median(values[:tenth]), 2),
        "median": round(median(values), 2),
        "last_tenth": round(median(values[-tenth:]), 2),
        "most": round(max(values), 2),
    }


def write(path: Path, told: dict[str, Any]) -> None:
    """Write the figures, as a page where the name ends in .md."""
    path.write_text(page(told) if path.suffix == ".md" else json.dumps(told, indent=1) + "\n")


def page(told: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        f"# Soak of {told['minutes']} minutes: {told['verdict']}",
        "",
        f"joader {told['version']}, seed {told['seed']}, {told['workers']} workers, a budget of "
        f"{told['budget_mib']:g} MiB, at most {told['most_jobs']} jobs at a time. "
        f"{told['rows_read']:,} rows were read, each position once a pass.",
        *(["", f"**Broken:** {told['broken']}"] if told["broken"] else []),
        *("", "| what happened | times |", "| --- | ---: |"),
        *(f"| {name} | {count:,} |" for name, count in told["counts"].items()),
        *("", f"The daemon, {told['samples']:,} samples, one a second:", ""),
        *("| | first tenth | median | last tenth | most |", "| --- | ---: | ---: | ---: | ---: |"),
    ]
    for name in ("daemon_mib", "descriptors", "used_mib", "pinned_mib"):
        row = told[name]
        values = [f"{row.get(k, 0):g}" for k in ("first_tenth", "median", "last_tenth", "most")]
        lines.append(f"| {name.replace('_mib', ', MiB')} | {' | '.join(values)} |")
    return "\n".join(lines) + "\n"
