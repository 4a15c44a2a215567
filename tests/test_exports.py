"""The public surface is what `joader.__all__` says, and importing it is cheap."""

import json
import subprocess
import sys

import joader

HEAVY = {"numpy", "torch", "ray"}
# Rooms that a loader of a plain dataset does not need, and how many of our modules it may load.
NOT_AT_THE_DOOR = ("engine", "cache", "catalog", "cluster", "dashboard", "page", "simulator", "cli")
MOST_AT_THE_DOOR = 130
# Of `images`: what a step is, and a sequence of them; each loader has one, if an empty one.
NO_STEPS = {"steps", "step", "sample", "pixels", "libraries"}


def ours_after(script: str) -> list[str]:
    """Return the modules of ours that a fresh interpreter has loaded after a script."""
    script += "\nimport json, sys\nprint(json.dumps([*sys.modules]))"
    loaded = json.loads(subprocess.check_output([sys.executable, "-c", script], text=True))
    return sorted(name for name in loaded if name.partition(".")[0] == "joader")


def check_the_door(modules: list[str]) -> None:
    rooms = {name.split(".")[1] for name in modules if "." in name}
    assert rooms.isdisjoint(NOT_AT_THE_DOOR), sorted(rooms.intersection(NOT_AT_THE_DOOR))
    images = {name.split(".")[2] for name in modules if name.startswith("joader.images.")}
    assert images <= NO_STEPS
    assert len(modules) <= MOST_AT_THE_DOOR, f"{len(modules)} modules: {', '.join(modules)}"


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


def test_the_first_use_of_the_loader_loads_little() -> None:
    check_the_door(ours_after("import numpy, joader\njoader.DataLoader"))


def test_a_loader_of_a_plain_dataset_loads_little() -> None:
    check_the_door(
        ours_after(
            "import numpy as np, joader\n"
            "joader.DataLoader([np.arange(4) for _ in range(8)], batch_size=2, shuffle=True)"
        )
    )
