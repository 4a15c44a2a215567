"""The screen of `joader top`: a node's figures as lines of text, for any width.

Functions from figures to what rich prints; nothing is worked out here that another screen would
have to work out, too. Names of jobs and datasets are not ours: none of them is taken as markup.
"""

from collections.abc import Sequence
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.text import Text

from joader.cli.top import node_table
from joader.cli.top.bars import Glyphs, bar, cuts
from joader.cli.top.job_table import MOST_LINES, WIDE, table
from joader.cli.top.view import View
from joader.cli.words import advice, counted, duration, flow_words, rate, size
from joader.statistics import CacheStatistics, FlowStatistics, JobStatistics, NodeStatistics

_BAR = 16
_WIDE_BAR = 32
_LABEL = 9
# Of what limits the node.
_MOST_LINES = 4


def overview(
    node: NodeStatistics,
    view: View | None,
    width: int,
    height: int,
    glyphs: Glyphs,
    past: Sequence[JobStatistics] = (),
) -> Group:
    """Return the screen with all jobs; without a view, as it is printed once.

    `past`: jobs that have ended, in the lines that the others leave.
    """
    order = view or View()
    chosen = view.chosen((*node.jobs, *past)) if view else None
    wide = width >= WIDE
    header = _header(node, wide, glyphs)
    header += _limit(node, width, height - len(header) - 2 - len(node.jobs))
    above = len(header) + 2  # one is empty, one has titles
    of_an_ended = int(chosen is not None and chosen.ended > 0)
    free = height - above - of_an_ended
    lines_each = 1 if wide else max(1, min(MOST_LINES, free // max(1, len(node.jobs))))
    room = free // lines_each
    room -= room < len(node.jobs)  # a line says how many more there are
    jobs = _in_sight(order.ordered(node.jobs), chosen, max(1, room))
    left = height - above - lines_each * len(jobs) - (len(jobs) < len(node.jobs))
    ended = _in_sight(order.ordered(tuple(past)), chosen, max(of_an_ended, left))
    parts: list[RenderableType] = [*header, Text()]
    if not jobs:
        parts.append(Text("No job reads now. Jobs appear here as soon as they iterate.", "dim"))
    if shown := [*jobs, *ended]:
        parts += table(shown, chosen, width, lines_each, glyphs)
        if len(jobs) < len(node.jobs):
            more = f"{len(node.jobs) - len(jobs)} more; {glyphs.keys} moves on"
            parts.append(Text(more, style="dim"))
    if node.cluster is not None:
        lines = [Text(), *node_table.table(node.cluster, width, glyphs)]
        taken = above + lines_each * max(1, len(jobs)) + len(ended)
        if taken + len(lines) <= height:
            parts += lines
    return Group(*parts)


def footer(view: View, glyphs: Glyphs, lines: int = 0, room: int = 0) -> Text:
    """Return what can be typed; `lines`: of one job, of which `room` can be shown."""
    order = f"{view.sort}, backwards" if view.backwards else view.sort
    words = f"q quit  {glyphs.keys} select  Enter details  s sort  r reverse  (sorted by {order})"
    if lines:
        words = f"q quit  Esc all jobs  {glyphs.keys} another job"
        if lines > room:
            words += f"  PgUp/PgDn scroll  ({view.scrolled + room} of {lines} lines)"
    return Text(words, style="dim", no_wrap=True, overflow="ellipsis")


def _header(node: NodeStatistics, wide: bool, glyphs: Glyphs) -> list[Text]:
    who = f"daemon {node.pid}, up {duration(node.uptime_s)}, {counted(len(node.jobs), 'job')}"
    first = Text.assemble(("joader", "bold"), f" {node.version}  ", (who, "dim"))
    first.no_wrap, first.overflow = True, "ellipsis"
    width = _WIDE_BAR if wide else _BAR
    busy = node.cpu_cores / node.cores if node.cores else 0.0
    pace = f"{rate(node.prepared_per_s)} prepared/s {glyphs.arrow} {rate(node.delivered_per_s)}"
    work = f"{node.cpu_cores:.1f} of {counted(node.cores, 'core')}, {pace} delivered/s"
    memory = node.memory
    taken = f"{size(memory.used_bytes)} of {size(memory.budget_bytes)}"
    lines = [
        first,
        headline(node),
        Text(),
        _labeled("workers", f"{bar(busy, width, glyphs)}  {work}"),
        _labeled("memory", f"{_memory_bar(memory, width, glyphs)}  {taken}"),
        _labeled("", _legend(memory, glyphs), "dim"),
        _labeled("samples", _flow(node.flow, glyphs)),
    ]
    if node.cluster is not None:
        lines.append(_labeled("cluster", node_table.summary(node.cluster)))
    return lines


def _limit(node: NodeStatistics, width: int, room: int) -> list[Text]:
    """Return what limits the node, in full where there is room beside a line for each job."""
    most = max(1, min(_MOST_LINES, room))
    lines = wrap(advice(node.diagnosis), max(_BAR, width - _LABEL), max_lines=most)
    return [_labeled("" if place else "limit", words) for place, words in enumerate(lines)]


def _labeled(label: str, words: str, style: str = "") -> Text:
    line = Text.assemble((f"{label:<{_LABEL}}", "dim"), (words, style))
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def headline(node: NodeStatistics) -> Text:
    """Return in one line what joader saves."""
    totals, where = node.totals, ""
    if node.cluster is not None and node.cluster.totals.saved is not None:
        totals, where = node.cluster.totals, f" on {counted(len(node.cluster.nodes), 'node')}"
    saves = totals.saved
    if saves is None:
        return Text("No samples delivered yet.")
    text = Text(no_wrap=True, overflow="ellipsis")
    time = f", {duration(totals.saved_cpu_s)} of CPU time" if totals.saved_cpu_s >= 1 else ""
    text.append(f"{saves:.0%} of the work saved{where}{time}", style="bold green")
    text.append(f": {totals.delivered:,} delivered, {totals.prepared:,} prepared")
    return text


def _memory_bar(memory: CacheStatistics, width: int, glyphs: Glyphs) -> str:
    budget = max(1, memory.budget_bytes)
    widths = cuts([count / budget for count in _by_need(memory)], width)
    return "".join(g * w for g, w in zip(glyphs.parts, widths, strict=True)).ljust(width)


def _by_need(memory: CacheStatistics) -> list[int]:
    return [
        memory.pinned_bytes,
        memory.needed_by_many_bytes,
        memory.needed_by_one_bytes,
        memory.needed_by_none_bytes,
    ]


def _legend(memory: CacheStatistics, glyphs: Glyphs) -> str:
    words = ("in use", "for several jobs", "for one", "for none")
    shown = zip(glyphs.parts, _by_need(memory), words, strict=True)
    return (
        "  ".join(f"{glyph} {_mebibytes(count)} {word}" for glyph, count, word in shown) + " (MiB)"
    )


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.0f}"


def _flow(flow: FlowStatistics, glyphs: Glyphs) -> str:
    return f" {glyphs.arrow} ".join(flow_words(flow))


def _in_sight(
    jobs: list[JobStatistics], chosen: JobStatistics | None, room: int
) -> list[JobStatistics]:
    """Return as many as there is room for, the selected among them."""
    if len(jobs) <= room:
        return jobs
    if room < 1:
        return []
    at = jobs.index(chosen) if chosen in jobs else 0
    first = min(max(0, at - room // 2), len(jobs) - room)
    return jobs[first : first + room]
