"""Why samples do not make a batch, in words: which rows have which types and shapes."""

from collections.abc import Sequence

from joader.memory import Layout
from joader.memory.layout import Branch, Node

_MOST_ROWS = 8
_MOST_FORMS = 6
_ADVICE = (
    "Samples of one batch need equal types and shapes: make them so in the dataset or in prepare= "
    "(Resize, CenterCrop), or give a collate_fn= that takes them as they are"
)


def forms(rows: Sequence[int], layouts: Sequence[Layout]) -> str:
    """Say which rows of a batch are of which form, and what to do if there are several."""
    by_form: dict[str, list[int]] = {}
    for row, layout in zip(rows, layouts, strict=True):
        by_form.setdefault(shown(layout.form), []).append(row)
    told = sorted(by_form.items(), key=lambda item: -len(item[1]))
    parts = [f"{_numbers(rows)}: {form}" for form, rows in told[:_MOST_FORMS]]
    if len(told) > _MOST_FORMS:
        parts.append(f"and {len(told) - _MOST_FORMS} more forms")
    text = f"(joader) this batch was made of {'; '.join(parts)}."
    return f"{text} {_ADVICE}" if len(told) > 1 else text


def shown(node: Node) -> str:
    """Return a sample's form as one would write it."""
    if isinstance(node, Branch):
        inner = [shown(child) for child in node.children]
        if len(node.names) == len(inner):
            inner = [f"{name}: {child}" for name, child in zip(node.names, inner, strict=True)]
        return f"{node.kind}({', '.join(inner)})"
    if not node.dtype and not node.shape:
        return node.kind
    return f"{node.kind} {node.dtype.lstrip('|<>=')}{list(node.shape)}"


def _numbers(rows: list[int]) -> str:
    first = ", ".join(map(str, rows[:_MOST_ROWS]))
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return f"row{'s' if len(rows) > 1 else ''} {first}{more}"
