"""A place has one name, and another one wherever code could find something else."""

import os
import subprocess
import sys

import pytest

from joader.recipe.place import place, place_in_words

SCRIPT = "from joader.recipe.place import place; print(place())"


def elsewhere(*options: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    environment.setdefault("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    command = [sys.executable, *options, "-c", SCRIPT]
    return subprocess.check_output(command, env=environment, text=True).strip()


def changed(before: dict[str, str]) -> set[str]:
    now = place_in_words()
    assert now.keys() == before.keys()
    return {name for name, words in now.items() if words != before[name]}


def test_two_processes_in_one_place_name_it_alike():
    first = elsewhere(PYTHONHASHSEED="0")
    assert elsewhere(PYTHONHASHSEED="1", SOMETHING="else") == first
    assert elsewhere(PYTHONPATH="/other" + os.pathsep + os.pathsep.join(sys.path)) != first


def test_the_current_folder_counts_by_path_and_by_what_is_there(tmp_path, monkeypatch):
    names = set()
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        names.add(place())
    monkeypatch.setattr(sys, "path", ["/some/path"])
    before = place_in_words()
    os.rename(tmp_path / "other", tmp_path / "older")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert changed(before) == {"folder on disk"}
    monkeypatch.chdir(tmp_path / "older")
    assert changed(before) == {"folder"}
    names.add(place())
    assert len(names) == 3


def test_a_removed_folder_is_a_place_too(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    before = place()
    (tmp_path / "gone").rmdir()
    assert place() != before
    assert place_in_words()["folder"] == "(removed)"
    assert place() == place()


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("executable", "/other/python", "interpreter"),
        ("executable", None, "interpreter"),
        ("version", "4.0", "python"),
        ("path", ["/a", "b", ""], "import path"),
    ],
)
def test_interpreter_version_and_import_path_count(monkeypatch, name, value, part):
    before, words = place(), place_in_words()
    monkeypatch.setattr(sys, name, value)
    assert changed(words) == {part}
    assert place() != before


def test_relative_entries_of_the_import_path_count_as_the_folders_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "lib", "/abs/../lib"])
    expected = os.pathsep.join([str(tmp_path), str(tmp_path / "lib"), "/lib"])
    assert place_in_words()["import path"] == expected


@pytest.mark.parametrize(
    ("moved", "part"), [("/", "root on disk"), ("/proc/self/ns/mnt", "mount namespace")]
)
def test_another_root_or_mount_namespace_is_another_place(monkeypatch, moved, part):
    real = os.stat
    before = place()
    words = place_in_words()

    def stat(path: str) -> os.stat_result:
        found = list(real(path))
        found[1] += path == moved  # its inode
        return os.stat_result(found)

    monkeypatch.setattr(os, "stat", stat)
    assert changed(words) == {part}
    assert place() != before


def test_a_machine_without_proc_has_places(monkeypatch):
    real = os.stat

    def stat(path: str) -> os.stat_result:
        if path.startswith("/proc"):
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(os, "stat", stat)
    assert place_in_words()["mount namespace"] == "unknown"
    assert place() == place()
