"""Keeps what a daemon has learned about recipes for the next daemon on this machine.

There is one file per machine in the user's cache folder. Its name is the machine's fingerprint, and
it contains what the fingerprint is made of, so that measurements from another machine are never
used, even if the file was copied. A recipe's name covers its code, its data and its environment, so
a changed recipe is another recipe. If the file cannot be used, the daemon starts without it and
logs why.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from joader.config import cache_folder, write_private
from joader.daemon.fingerprint import machine_in_words, machine_name
from joader.daemon.log_format import event
from joader.errors import BadData
from joader.schedule.experience import MOST_RECIPES, Experience, Known
from joader.schedule.learning import Learning

log = logging.getLogger("joader.daemon")

FORM = 1


@dataclass(frozen=True)
class Contents:
    """The content of the file."""

    machine: dict[str, str]
    recipes: dict[str, Known] = field(default_factory=dict)
    form: int = FORM


def experience_path(words: Mapping[str, str] | None = None) -> Path:
    """Return the path for this machine, or for the machine with this fingerprint."""
    name = machine_name(dict(words or machine_in_words()))
    return cache_folder() / "models" / f"{name}.json"


def read_recipes(path: Path) -> dict[str, Known]:
    """Return the recipes in a file; BadData if it is damaged or of another machine."""
    hint = "remove it, and joader will learn again"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Contents)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadData(f"cannot read {path}: {error.strerror or error}; {hint}") from error
    except msgspec.MsgspecError as error:
        raise BadData(f"{path} is damaged ({error}); {hint}") from error
    if found.form != FORM:
        raise BadData(
            f"{path} was written by another version of joader (form {found.form}, this one reads "
            f"{FORM}); {hint}"
        )
    here = machine_in_words()
    if found.machine != here:
        other = [f"{name} {value}" for name, value in found.machine.items()]
        raise BadData(
            f"{path} was written on another machine ({', '.join(other)}); this one has "
            f"{', '.join(f'{name} {value}' for name, value in here.items())}; {hint}"
        )
    return {code: one for code, one in found.recipes.items() if one.rows.possible}


def load() -> Experience:
    """Return what was kept for this machine; if it cannot be used, log why and return nothing."""
    path = experience_path()
    try:
        recipes = read_recipes(path)
    except BadData as error:
        log.warning("%s", error, extra=event("experience_ignored", path=str(path)))
        return Experience()
    return Experience(recipes)


def keep(learning: Learning) -> None:
    """Merges what this daemon learns into the file."""
    learning.learn()
    save(learning.experience)


def save(experience: Experience) -> None:
    """Write what was learned since the last call, merged with what other daemons wrote."""
    if not experience.changed:
        return
    path, known = experience_path(), experience.all()
    try:
        recipes = read_recipes(path)
    except BadData:
        recipes = {}
    for code in experience.changed & set(known):
        recipes.pop(code, None)  # last, so that it counts as the latest
        recipes[code] = known[code]
    latest = dict(list(recipes.items())[-MOST_RECIPES:])
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, msgspec.json.encode(Contents(machine_in_words(), latest)))
    except OSError as error:  # a full or read-only folder: harmless, the next jobs learn again
        log.warning("cannot keep what was learned about recipes in %s: %s", path, error)
        return
    experience.changed.clear()
