"""What a daemon keeps for the next one."""

import json
import logging
import os
from pathlib import Path

import pytest

from joader.daemon.experience_file import experience_path, load, read_recipes, save
from joader.errors import BadData
from joader.schedule.experience import Experience, Habit, Pace

PACE = Pace(0.01, 0.008, 0.009)


def learned(*codes: str) -> Experience:
    experience = Experience()
    for code in codes:
        experience.learn(code, PACE, {1: 0.008, 2: 0.009}, {"train.py": Habit(0.1, 64.0)})
    return experience


def test_what_is_saved_is_loaded_again_and_is_nobody_elses_business() -> None:
    experience = learned("a", "b")
    save(experience)
    assert not experience.changed
    assert load().all() == experience.all()
    path = experience_path()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(path.parent) == [path.name]


def test_two_daemons_keep_what_each_has_learned() -> None:
    save(learned("a"))
    save(learned("b"))
    assert set(load().all()) == {"a", "b"}


@pytest.mark.parametrize("body", [b"", b"{", b'{"machine": 3}', b'{"machine": {}, "recipes": []}'])
def test_a_damaged_file_is_said_ignored_and_replaced(
    body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = experience_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(body)
    with pytest.raises(BadData, match=r"is damaged.*remove it"):
        read_recipes(path)
    with caplog.at_level(logging.WARNING, "joader.daemon"):
        assert not load().all()
    assert "is damaged" in caplog.text
    save(learned("a"))
    assert set(load().all()) == {"a"}


def test_a_file_of_another_machine_or_form_is_not_used() -> None:
    save(learned("a"))
    path = experience_path()
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "machine": {**found["machine"], "gpus": "H9000"}}))
    with pytest.raises(BadData, match=r"on another machine .*H9000.*this one has"):
        read_recipes(path)
    assert not load().all()
    path.write_text(json.dumps({**found, "form": 99}))
    with pytest.raises(BadData, match="form 99"):
        read_recipes(path)


def test_a_folder_that_cannot_be_written_costs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING, "joader.daemon"):
        save(learned("a"))
    assert "cannot keep" in caplog.text
