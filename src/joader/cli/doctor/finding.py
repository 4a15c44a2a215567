"""What a check found."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "bad"]


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and what to do about it.

    "warn": joader works, but not as well as it could; "bad": it does not.
    """

    name: str
    found: str
    level: Level = "ok"
    advice: str = ""
