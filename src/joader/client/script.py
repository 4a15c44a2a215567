"""What the training script is called, and which options it was started with.

Options tell runs of one script apart (daemon/names.py). An option is what starts with a dash, with
the values after it; `name=value`, as Hydra has it; or a word by its place. Secrets stay here: what
is called a key, token or password never leaves the process.
"""

import os
import re
import sys
from collections.abc import Sequence

_FLAG = re.compile(r"-(?![\d.])")  # -1 and -.5 are values
_ASSIGNMENT = re.compile(r"[\w.+~@/]+=")
_SECRET = re.compile(r"(?i)(^|[-_.])(key|token|secret|password|passwd|credentials?)$")
# Launchers give each rank one: who shows a job says its rank anyway.
_OF_A_RANK = re.compile(r"--?(local|node|machine)[-_]rank$")


def script() -> str:
    """Return what the script is called."""
    return os.path.basename(sys.argv[0] or "python")


def options(arguments: Sequence[str] | None = None) -> tuple[tuple[str, str], ...]:
    """Return what the script was started with: what each option is, and how it reads."""
    if arguments is None:
        if script() == "ipykernel_launcher.py":
            return ()  # a notebook: they are of its kernel
        arguments = sys.argv[1:]
    found: dict[str, list[str]] = {}
    flag = ""
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if _FLAG.match(word):
            flag = key = _unused(name, found)
            found[key] = [name, value] if equals else [name]
        elif _ASSIGNMENT.match(word):
            found[_unused(name, found)] = [word]
        elif flag:
            found[flag].append(word)
        else:
            found[str(place)] = [word]
    shown = ((key, " ".join(words)) for key, words in found.items() if not _is_left_out(key))
    return tuple((_encodable(key), _encodable(text)) for key, text in shown)


def _unused(name: str, found: dict[str, list[str]]) -> str:
    """Return a key for an option that may be given several times."""
    key, count = name, 1
    while key in found:
        count += 1
        key = f"{name} {count}"
    return key


def _is_left_out(key: str) -> bool:
    name = key.partition(" ")[0]
    return bool(_SECRET.search(name) or _OF_A_RANK.match(name))


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()  # half a character cannot travel
