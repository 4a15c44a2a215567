"""What a daemon leaves when it ends: its figures as JSON, and as one page that can be mailed."""

import logging
from pathlib import Path

from joader.config import write_private
from joader.page import summary
from joader.statistics import RunStatistics, to_json

log = logging.getLogger("joader.daemon")


def write_summary(run: RunStatistics, folder: Path) -> None:
    """Write both files in place of those of the daemon before; an error is only logged."""
    if not run.node.totals.delivered:
        return  # nothing was done: what the last one did is worth more
    try:
        write_private(folder / "summary.json", to_json(run))
        write_private(folder / "summary.html", summary(run).encode())
    except OSError as error:
        log.warning("no summary could be written to %s: %s", folder, error)
