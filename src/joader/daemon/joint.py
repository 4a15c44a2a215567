"""Joint draws over nodes: which node draws for which job, and what happens when one is lost.

Jobs with order="joint" that read one recipe draw together, across nodes: one node, the *drawer*,
draws for all of them (schedule/nodes/drawing.py decides which), and sends what comes next. Every
node announces for which recipes it could do that, so there are no requests and no election.

No job waits for a drawer. A job draws on its own node until a line to the drawer is up; if the line
ends, or the drawer sends nothing that the job needs for PATIENCE_S, it does so again, and joins the
drawer of that time later. Two nodes that disagree for a moment about the drawer split one group
into two: both draw correctly, and share less.

Not here: what a drawer draws (engine/couplings.py), rows and their bytes (fetching.py).
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from joader.cluster.rank_line import RankLine
from joader.daemon.joint_guest import JointGuest
from joader.daemon.joint_job import JointJob
from joader.daemon.lines import Lines
from joader.daemon.registration import Registration
from joader.daemon.session import Session
from joader.engine import Engine
from joader.errors import JoaderError
from joader.messages import Drew, Event, Leave, Register, Want
from joader.messages.joint import Bring, Draw
from joader.messages.nodes import Knock, Node
from joader.messages.ranks import Disband
from joader.schedule.nodes.drawing import drawer

log = logging.getLogger("joader.cluster")

PURPOSE = "joint"
# How long a job waits for draws that its drawer has not sent before it draws for itself. Draws are
# made a window ahead and take milliseconds; an unreachable drawer is noticed after three seconds.
PATIENCE_S = 2.0
# How long a node that did not draw, or refused to, is not asked again.
_AVOID_S = 5.0
# A job leaves a drawer in the middle of a pass once another has drawn for this long, because all
# nodes know it by then.
_SETTLED_S = 1.0


class Joint:
    """All jobs and lines of one node that draw jointly with other nodes."""

    def __init__(
        self,
        node: Node,
        key: bytes,
        *,
        engine: Engine,
        registration: Registration,
        tell: Callable[[Event], None],
        differs: Callable[[str, str], bool],
    ) -> None:
        """Start without other nodes; `differs`: whether a node has other data for a recipe."""
        self._name = node.name
        self._engine, self._registration, self._tell = engine, registration, tell
        self._differs = differs
        self._nodes: dict[str, Node] = {node.name: node}
        self._said: dict[str, dict[str, bool]] = {}  # by other node: what it announced, see `said`
        self._avoided: dict[tuple[str, str], float] = {}  # node and recipe: until when
        self._jobs: list[JointJob] = []
        self._guests: dict[tuple[RankLine, int], JointGuest] = {}  # by line, and number there
        self._lines = Lines(node, key, PURPOSE, self._from_drawer, self._drawer_lost)

    # Who is there.

    def members_changed(self, members: Sequence[Node]) -> None:
        """Take in which nodes there are now, in the order in which they joined."""
        self._nodes = {node.name: node for node in members}

    def forget(self, node: str) -> None:
        """Forget what a node has announced that is gone or was restarted."""
        self._said.pop(node, None)

    def said(self, node: str, value: bytes) -> None:
        """Take in which recipes a node can draw for, and which it draws for other nodes now."""
        self._said[node] = msgspec.msgpack.decode(value, type=dict[str, bool]) if value else {}
        self.settle()

    def can_draw(self) -> bytes:
        """Return which recipes this node can draw for, to announce to others."""
        here = dict.fromkeys((one.recipe for one in self._jobs), False)
        here |= dict.fromkeys((guest.drawn_recipe for guest in self._guests.values()), True)
        return msgspec.msgpack.encode(dict(sorted(here.items()))) if here else b""

    def close(self) -> None:
        """Close all lines."""
        self._lines.close()

    # Jobs of this node.

    def take(self, session: Session, message: Register) -> None:
        """Put a `JointJob` between session and engine if the job may draw with other nodes."""
        join = message.join
        alone = join.order != "joint" or join.team or message.pieces
        if not alone and message.everywhere and message.ticket:
            job = JointJob(session, message, self._engine, self._tell, self._meet_now)
            session.tell = job.tell
            self._jobs.append(job)

    def settle(self) -> None:
        """Move every job to its drawer; drop jobs that have left."""
        for job in [one for one in self._jobs if one.session.job is not None]:
            if self._registration.sessions.get(job.job) is not job.session:
                self._jobs.remove(job)
                job.leave()
            elif job.begun:
                self._meet(job)

    def _meet_now(self, job: JointJob) -> None:
        self._meet(job, begins=True)

    def _meet(self, job: JointJob, begins: bool = False) -> None:
        """Move a job to its drawer, if that is possible now."""
        now = asyncio.get_running_loop().time()
        if self._has_starved(job, now):
            self._lose(job, f"it has sent nothing that the job needs for {PATIENCE_S:.0f} s")
        found = self._drawer(job.recipe, now)
        if begins and job.known_at not in ("", found):
            job.leave()  # a drawer that ends with its last pass will not draw this one
        node = self._nodes.get(found) if found != self._name else None
        if found == job.drawer or (node is None and not job.drawer):
            job.elsewhere_since = 0.0
            return
        line = self._lines.to(node) if node is not None else None
        if job.drawer and not begins:
            job.elsewhere_since = job.elsewhere_since or now
            if now - job.elsewhere_since < _SETTLED_S:
                return
        if node is None:
            job.leave()
        elif (
            line is not None
            and self._engine.couplings.undrawn(job.job)
            and not job.couple(found, line.send)
        ):
            self._avoided[found, job.recipe] = now + _AVOID_S

    def _has_starved(self, job: JointJob, now: float) -> bool:
        if not job.drawer or not self._engine.couplings.starves(job.job):
            job.starving_since = 0.0
            return False
        job.starving_since = job.starving_since or now
        return now - job.starving_since > PATIENCE_S

    def _drawer(self, recipe: str, now: float) -> str:
        """Return the drawer of a recipe, as far as this node knows."""
        self._avoided = {key: until for key, until in self._avoided.items() if until > now}
        said = {
            name: recipes[recipe]
            for name, recipes in self._said.items()
            if recipe in recipes
            and (name, recipe) not in self._avoided
            and not self._differs(recipe, name)
        }
        guests = self._guests.values()
        said[self._name] = any(guest.drawn_recipe == recipe for guest in guests)
        return drawer(list(self._nodes), said)

    def _from_drawer(self, line: RankLine, message: Any) -> None:
        for job in self._jobs:
            known = isinstance(message, Drew | Disband) and message.job == job.job
            if known and job.drawer == line.node.name:
                reason = job.hear(message)
                if reason:
                    self._lose(job, reason)

    def _lose(self, job: JointJob, reason: str) -> None:
        """Leave a drawer that is reached but useless, and do not return to it for a while."""
        until = asyncio.get_running_loop().time() + _AVOID_S
        self._avoided[job.drawer, job.recipe] = until
        log.info("node %s draws for job %d no more: %s", job.drawer, job.job, reason)
        job.leave()

    def _drawer_lost(self, line: RankLine, reason: str) -> None:
        for job in self._jobs:
            job.lost_node(line.node.name, reason)

    # Jobs of other nodes.

    def let_in(self, sock: socket.socket, knock: Knock) -> None:
        """Take in the line of a node with jobs to draw for."""
        self._lines.accept(sock, knock, self._from_node, self._node_lost)

    def _from_node(self, line: RankLine, message: Any) -> None:
        key = line, message.job
        try:
            match message:
                case Bring():
                    self._take_in(line, message)
                case Leave() if key in self._guests:
                    self._let_go(self._guests[key])
                case Draw() | Want() if key in self._guests:
                    self._guests[key].hear(message, self._tell)
        except (JoaderError, ValueError) as error:
            log.warning("refusing what node %s sent for joint draws: %s", line.node.name, error)
            line.send(Disband(message.job, str(error)))
            if key in self._guests:
                self._let_go(self._guests[key])

    def _take_in(self, line: RankLine, message: Bring) -> None:
        key = line, message.job
        if key in self._guests:
            self._let_go(self._guests[key])
        host = self._registration.host_of(message.recipe)
        known = host.register if host is not None else None
        known = known or self._registration.hosted.get(message.recipe)
        if known is None or known.join.row_limit != message.row_limit:
            line.send(Disband(message.job, "no job there reads the same recipe"))
            return
        guest = JointGuest(message, line.node.name, line.send, self._let_go, self._engine)
        self._registration.enter(guest, guest.join(message, known.join))
        self._guests[key] = guest

    def _let_go(self, guest: JointGuest) -> None:
        for key in [key for key, one in self._guests.items() if one is guest]:
            del self._guests[key]
        self._registration.leave(guest)

    def _node_lost(self, line: RankLine, reason: str) -> None:
        for key in [key for key in self._guests if key[0] is line]:
            self._let_go(self._guests[key])
