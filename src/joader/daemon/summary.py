"""What a daemon leaves when it ends: its figures as JSON, and as one page that can be mailed."""

import logging
import os
from pathlib import Path

from joader.page import summary
from joader.statistics import RunStatistics, to_json

log = logging.getLogger("joader.daemon")


def write_summary(run: RunStatistics, folder: Path) -> None:
    """Write both files in place of those of the daemon before; an error is only logged."""
    if not run.node.totals.delivered:
        return  # nothing was done: what the last one did is worth more
    try:
        _write(folder / "summary.json", to_json(run))
        _write(folder / "summary.html", summary(run).encode())
    except OSError as error:
        log.warning("no summary could be written to %s: %s", folder, error)


def _write(path: Path, body: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
    part.replace(path)
