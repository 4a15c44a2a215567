"""The format of the daemon's log: per event a line of text for people, or of JSON for programs.

An important event carries a name (`event`) and its values in addition to the text, so that no
program has to parse sentences. `extra=event("job_joined", job=3)` gives both to a record.
"""

import json
import logging
import os
from datetime import UTC, datetime
from typing import Any

from joader.errors import BadArgument

FORMATS = ("text", "json")


def event(name: str, /, **values: Any) -> dict[str, Any]:
    """Return the `extra` of a record: the name and the values of an event."""
    return {"event": name, "values": values}


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, event, message, and the values of the event."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one JSON object with the record's text and values."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "message"),
            "message": record.getMessage(),
            **getattr(record, "values", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def default_format() -> str:
    """Return the format that JOADER_LOG_FORMAT asks for."""
    name = os.environ.get("JOADER_LOG_FORMAT") or FORMATS[0]
    if name not in FORMATS:
        raise BadArgument(f"JOADER_LOG_FORMAT is {name!r}; use text or json")
    return name


def set_up(log_format: str) -> None:
    """Log to standard error in this format."""
    handler = logging.StreamHandler()
    if log_format == "json":
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S")
        )
    logging.basicConfig(handlers=[handler])
