"""A log line for people, and the same event for programs."""

import json
import logging
import sys

import pytest

from joader.daemon.log_format import JsonLines, default_format, event
from joader.errors import BadArgument
from tests.processes.conftest import Node


def record(text: str, *arguments: object, **more: object) -> logging.LogRecord:
    made = logging.LogRecord("joader.daemon", logging.WARNING, "", 1, text, arguments, None)
    made.__dict__.update(more)
    return made


def test_a_line_has_its_time_level_event_and_values() -> None:
    made = record('job %d: "%s"\n', 3, "a\nb", **event("job_joined", job=3, name="a\nb"))
    line = JsonLines().format(made)
    assert "\n" not in line
    told = json.loads(line)
    assert told.pop("time").endswith("+00:00")
    assert told == {
        "level": "warning",
        "event": "job_joined",
        "message": 'job 3: "a\nb"\n',
        "job": 3,
        "name": "a\nb",
    }


def test_an_error_keeps_its_traceback_in_one_line() -> None:
    try:
        raise ValueError("no")
    except ValueError:
        made = record("it failed")
        made.exc_info = sys.exc_info()
    told = json.loads(JsonLines().format(made))
    assert told["event"] == "message"
    assert "ValueError: no" in told["traceback"]


def test_the_environment_chooses_and_nonsense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOADER_LOG_FORMAT", raising=False)
    assert default_format() == "text"
    monkeypatch.setenv("JOADER_LOG_FORMAT", "json")
    assert default_format() == "json"
    monkeypatch.setenv("JOADER_LOG_FORMAT", "xml")
    with pytest.raises(BadArgument, match="'xml'; use text or json"):
        default_format()


def test_a_daemon_logs_a_jobs_life_as_json(tmp_path) -> None:  # type: ignore[no-untyped-def]
    node = Node(tmp_path)
    node.up("64MiB", 1, "--log-format=json")
    try:
        read = "for batch in joader.DataLoader(Squares(8), batch_size=4, job='j'): check(batch)"
        node.job(read).result()
    finally:
        node.down()
    lines = [json.loads(line) for line in node.log().splitlines()]
    events = [line["event"] for line in lines]
    assert events[:2] == ["daemon_started", "job_joined"]
    assert events[-1] == "daemon_ended"
    joined = next(line for line in lines if line["event"] == "job_joined")
    left = next(line for line in lines if line["event"] == "job_left")
    assert (joined["name"], joined["rows"]) == ("j", 8)
    assert (left["job"], left["delivered"], left["prepared"]) == (joined["job"], 8, 8)
