"""`joader top`: ask, show, listen to the keyboard, again and again.

The daemon is asked once a second, for what is new only. If it goes away, the screen says so, and
goes on with the next one.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.segment import SegmentLines
from rich.text import Text

from joader.cli.console import Console
from joader.cli.letters import ascii_only
from joader.cli.top.bars import Glyphs, glyphs_for
from joader.cli.top.details import details
from joader.cli.top.keyboard import listening
from joader.cli.top.screen import footer, overview
from joader.cli.top.view import View
from joader.client.watcher import Watcher
from joader.errors import ConnectionLost, NoDaemon, Overdue
from joader.statistics import JobStatistics, MomentStatistics, NodeStatistics

_EVERY_S = 1.0
_LOOK_S = 0.1  # for keys, and for another size of the window
_MOMENTS = 120
# So many lines if nobody says how many there are: all jobs then.
_ALL = 10_000
# Of jobs that have ended; `joader status --ended` prints all.
_ENDED_ONCE = 10


class Picture:
    """The node as it was last heard of."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.node = NodeStatistics()
        self.past: tuple[JobStatistics, ...] = ()  # that have ended
        self.moments: deque[MomentStatistics] = deque(maxlen=_MOMENTS)
        self.trouble = ""
        self._watcher: Watcher | None = None

    @property
    def jobs(self) -> tuple[JobStatistics, ...]:
        """All that can be selected."""
        return (*self.node.jobs, *self.past)

    def renew(self) -> None:
        """Ask the daemon; what is wrong with it is noted, not raised."""
        try:
            if self._watcher is None:
                self._watcher = Watcher()
                self.moments.clear()
            run = self._watcher.run(self.moments[-1].time if self.moments else 0.0)
        except (NoDaemon, ConnectionLost, Overdue) as error:
            self.trouble = str(error)
            self.close()
            return
        self.node, self.past, self.trouble = run.node, run.past, ""
        self.moments.extend(run.moments)

    def close(self) -> None:
        """Hang up."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None


def top(once: bool) -> int:
    """Show what runs until `q`; `once`: print it and end, with 1 if there is no daemon."""
    if not once and sys.stdout.isatty():
        for fixed in ("COLUMNS", "LINES"):  # rich takes them for the size that a window keeps
            os.environ.pop(fixed, None)
    console = Console(highlight=False)
    glyphs = glyphs_for(console.encoding, ascii_only())
    picture = Picture()
    if once or not console.is_terminal or console.is_dumb_terminal:
        with Watcher() as watcher:
            run = watcher.run(time.time())
        past = run.past[-_ENDED_ONCE:]
        console.print(overview(run.node, None, console.width, _ALL, glyphs, past))
        return 0
    try:
        _live(console, picture, glyphs)
    except KeyboardInterrupt:
        pass  # one way to leave
    finally:
        picture.close()
    return 0


def _live(console: Console, picture: Picture, glyphs: Glyphs) -> None:
    view, size, due = View(), None, 0.0
    with listening() as keyboard, Live(console=console, screen=True, auto_refresh=False) as live:
        while not view.ended:
            now = time.monotonic()
            changed = console.size != size
            if now >= due:
                picture.renew()
                due, changed = now + _EVERY_S, True
            for key in keyboard.pressed(0.0 if changed else _LOOK_S):
                view = view.after(key, picture.jobs)
                changed = True
            if changed:
                size = console.size
                screen, view = _screen(picture, view, console, glyphs)
                live.update(screen, refresh=True)


def _screen(
    picture: Picture, view: View, console: Console, glyphs: Glyphs
) -> tuple[RenderableType, View]:
    """Return what is shown, and the view as far as there was something to scroll to."""
    width, height = console.size
    room = max(1, height - 1)
    job = view.chosen(picture.jobs) if view.details else None
    count = 0
    if picture.trouble:
        body: RenderableType = Group(*_trouble(picture))
    elif job is not None:
        lines = console.render_lines(
            details(job, picture.node, picture.moments, glyphs, picture.past),
            console.options.update(height=None),
        )
        count = len(lines)
        view = view.within(count, room)
        body = SegmentLines(lines[view.scrolled : view.scrolled + room], new_lines=True)
    else:
        body = overview(picture.node, view, width, room, glyphs, picture.past)
    layout = Layout()
    last = footer(view, glyphs, count, room)
    layout.split_column(Layout(body, name="body"), Layout(last, name="keys", size=1))
    return layout, view


def _trouble(picture: Picture) -> Iterator[Text]:
    yield Text(picture.trouble)
    yield Text()
    yield Text("This screen goes on with the next daemon; q ends it.", style="dim")
