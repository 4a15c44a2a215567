"""The machines of a cluster as lines of text: what each has prepared, got and given, and holds."""

from rich.text import Text

from joader.cli.top.bars import Glyphs, bar
from joader.cli.words import counted, printable, size
from joader.statistics import ClusterStatistics, PeerStatistics

_BAR = 8
_LEAST_NAME, _MOST_NAME = 8, 24
# Of a line: everything but the name.
_FIXED = 66


def summary(cluster: ClusterStatistics) -> str:
    """Return in one line who is there and what went between them."""
    lost = "" if cluster.leader_reached else "; the leader is not reached now"
    return (
        f"{counted(len(cluster.nodes), 'node')}, this is {printable(cluster.name)}; "
        f"{cluster.fetched:,} rows came from others, {cluster.sent:,} went to them{lost}"
    )


def table(cluster: ClusterStatistics, width: int, glyphs: Glyphs) -> list[Text]:
    """Return a line of titles, and one line per node."""
    longest = max((len(node.name) for node in cluster.nodes), default=0)
    name_width = max(_LEAST_NAME, min(_MOST_NAME, longest, width - _FIXED))
    titles = _line("NODE", name_width, ["CORES", "MEMORY", "PREPARED", "FETCHED", "SENT", ""])
    titles.stylize("bold")
    return [titles, *(_node(node, name_width, glyphs) for node in cluster.nodes)]


def _node(node: PeerStatistics, name_width: int, glyphs: Glyphs) -> Text:
    memory = "-"
    if node.budget_bytes:
        taken = bar(node.used_bytes / node.budget_bytes, _BAR, glyphs)
        memory = f"{taken} {size(node.used_bytes):>10}"
    place = "this one" if node.here else "linked" if node.linked else "not linked"
    counts = [f"{count:,}" for count in (node.prepared, node.fetched, node.sent)]
    line = _line(printable(node.name), name_width, [str(node.cores), memory, *counts, place])
    if not node.here and not node.linked:
        line.stylize("yellow")
    return line


def _line(name: str, name_width: int, cells: list[str]) -> Text:
    cores, memory, prepared, fetched, sent, place = cells
    shown = Text(name)
    shown.truncate(name_width, overflow="ellipsis")
    space = " " * (name_width - shown.cell_len)  # by cells: some letters are two wide
    words = f"  {shown.plain}{space} {cores:>5} {memory:<19} {prepared:>9} {fetched:>8} {sent:>8}"
    return Text(f"{words} {place}", no_wrap=True, overflow="crop")
