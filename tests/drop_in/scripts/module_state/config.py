"""Settings with defaults, which the job overrides."""

from typing import Any

SIZE = 1


class Node(dict[str, Any]):
    """A yacs-like node."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


cfg = Node(INPUT=Node(SIZE=1, MEAN=[0.0]), FROZEN=False)
