"""What a job tells of itself, so that `joader explain` can say why two of them share or do not."""

import json
from dataclasses import dataclass, field
from typing import Any

from joader.recipe.fingerprint import Outline
from joader.recipe.fingerprint.shorthand import shorthand
from joader.recipe.parts import OwnPart, SharedPart, step_names
from joader.storage import Storage


@dataclass(frozen=True)
class About:
    """A job as its loader knows it."""

    outline: Outline  # of what is shared; empty if a key names it
    key: str
    shared: SharedPart
    own: OwnPart
    rows: int  # of the dataset
    table: str
    deterministic: bool
    private: bool  # its samples are its alone
    seeded: bool = False  # its random samples are a function of its seed, and so its alone
    opaque: str = ""  # what of its dataset cannot be compared
    runs: dict[str, str] = field(default_factory=dict)  # where, in words

    def to_bytes(self) -> bytes:
        """Return it as it travels."""
        dataset = self.shared.dataset
        name = f"table {self.table}" if self.table else type(dataset).__name__
        facts = {
            "dataset": name if self.table else f"{name} of {self.rows:,} rows",
            "place": dataset.place() if isinstance(dataset, Storage) else "",
            "columns": dataset.sample_columns if isinstance(dataset, Storage) else (),
            "content": self._content(),
            "outline": shorthand(self.outline, with_words=True),
            "key": self.key,
            "shared": _names(self.shared),
            "own": _names(self.own),
            "deterministic": self.deterministic,
            "private": self.private or self.seeded,
            "opaque": self.opaque,
            "runs": self.runs,
        }
        return json.dumps(facts).encode()

    def _content(self) -> str:
        """Return the name of the dataset without its steps; "" if it is not known."""
        if not self.outline:
            return ""
        edges = dict(self.outline[0].edges)
        number = edges.get(".dataset", 0) if self.shared.steps.steps else 0
        return self.outline[number].digest.hex() if number < len(self.outline) else ""


def _names(part: Any) -> list[str]:
    return [name.decode().partition(": ")[2] or "a function" for name in step_names(part)]
