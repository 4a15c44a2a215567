"""The public surface is what `joader.__all__` says, and importing it is cheap."""

import json
import subprocess
import sys

import joader

HEAVY = {"numpy", "torch", "ray"}


def test_every_exported_name_exists() -> None:
    missing = [name for name in joader.__all__ if not hasattr(joader, name)]
    assert missing == []


def test_no_name_is_exported_twice() -> None:
    assert len(joader.__all__) == len(set(joader.__all__))


def test_importing_joader_loads_no_heavy_package_and_starts_no_thread() -> None:
    # A fresh interpreter: in this one the test tools may have loaded numpy already.
    script = (
        "import json, sys, threading, joader;"
        "print(json.dumps([sorted({name.partition('.')[0] for name in sys.modules}),"
        " threading.active_count()]))"
    )
    printed = subprocess.check_output([sys.executable, "-c", script], text=True)
    loaded, threads = json.loads(printed)
    assert "joader" in loaded
    assert HEAVY.intersection(loaded) == set()
    assert threads == 1


def test_rooms_are_there_after_import_joader_and_not_loaded_before() -> None:
    rooms = ["callbacks", "cluster", "images", "storage"]
    script = (
        "import sys, joader\n"
        f"for room in {rooms}: assert 'joader.' + room not in sys.modules, room\n"
        f"for room in {rooms}: getattr(joader, room).__doc__\n"
        "print('ray' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "False\n"
