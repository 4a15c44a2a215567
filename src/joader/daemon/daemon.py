"""Messages become events, instructions become messages.

Everything runs on one event loop and in one thread (but for touching memory ahead), so the engine
needs no lock. Events are taken in as they come, and what follows from all that came in one turn of
the loop is said and done once: one round of decisions for many reports. The daemon decides nothing:
which row, which slot, who waits are the engine's.
"""

import asyncio
import json
import logging
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from joader.config import DaemonConfig
from joader.daemon import reports
from joader.daemon.door import Door, most_clients, turn_away
from joader.daemon.handshake import handshake, welcome
from joader.daemon.layouts import Layouts
from joader.daemon.session import MOST_OWED, Session
from joader.engine import Engine
from joader.engine.pieces import Pieces
from joader.errors import BadMessage, JoaderError
from joader.memory import Arena
from joader.messages import (
    Announce,
    AskExplain,
    AskStatus,
    AskWhy,
    Begin,
    Compare,
    Compared,
    Deliver,
    Differs,
    Drop,
    Event,
    Explained,
    Finish,
    Forget,
    Hello,
    Inspect,
    Instruction,
    Join,
    Know,
    Leave,
    Place,
    Prepare,
    Prepared,
    Refuse,
    Register,
    Registered,
    Release,
    Sized,
    Status,
    Stop,
    Want,
)
from joader.schedule.dispatch import Lent
from joader.schedule.orders import part_of
from joader.statistics import NodeStatistics, ReadStatistics, to_json
from joader.wire import Allowance
from joader.workers.desk import Desk
from joader.workers.pool import Pool

Record = Callable[[list[Event], list[Instruction]], None]

log = logging.getLogger("joader.daemon")

_TOUCH_STEP_BYTES = 256 * 2**20
_ACCEPT_AGAIN_S = 0.1
# What clients send takes as much memory as the budget at most, but this is always allowed.
_LEAST_ALLOWANCE_BYTES = 256 * 2**20
# How long batches that were asked for may take after SIGTERM.
_DRAIN_S = 10.0


class Daemon:
    """The engine, the arena, the pool and the sessions of one node."""

    def __init__(self, config: DaemonConfig, record: Record | None = None) -> None:
        """Take the memory; workers come with the first job. `record` is told all that happens."""
        self.config = config
        self.arena = Arena(config.memory_bytes)
        self.seed = int.from_bytes(os.urandom(7), "big")
        self.engine = Engine(self.arena.size_bytes, self.seed)
        self._record = record
        self._untold: list[Event] = []  # taken in since the last record
        self._events = 0  # taken in since the engine last said what follows
        self.pool = Pool(config.workers, self._from_pool, config.worker_growth_bytes)
        self.sessions: dict[int, Session] = {}
        self._pieces = Pieces()
        self.allowance = Allowance(max(_LEAST_ALLOWANCE_BYTES, config.memory_bytes))
        self.clients = 0
        self.stop = asyncio.Event()
        self._draining = False
        self._broken = False
        self._most_clients = most_clients(config.workers)
        self.idle_since = asyncio.get_running_loop().time()
        self._jobs_made = 0
        self._past = ReadStatistics()  # of jobs that left
        self._layouts = Layouts()
        self._tasks: set[asyncio.Task[None]] = set()
        threading.Thread(target=self._touch_ahead, daemon=True).start()

    # Connections.

    async def serve(self, door: Door) -> None:
        """Accept clients until `stop`."""
        loop = asyncio.get_running_loop()
        stopping = asyncio.ensure_future(self.stop.wait())
        while not self.stop.is_set():
            accepting = asyncio.ensure_future(loop.sock_accept(door.listener))
            await asyncio.wait({accepting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not accepting.done():
                accepting.cancel()
                break
            try:
                sock, _ = accepting.result()
            except OSError as error:  # no descriptors; the client waits in the queue
                log.warning("nobody can be let in now: %s", error)
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            if self.clients + len(self._tasks) >= self._most_clients:
                turn_away(
                    sock, f"the daemon has {self._most_clients} clients; it can serve no more"
                )
                continue
            task = asyncio.ensure_future(self._let_in(sock))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        for session in list(self.sessions.values()):
            session.refuse("the daemon was told to end, whoever reads (`joader down --force`)")
        await self.pool.close()
        self.arena.close()

    def drain(self, door: Door) -> None:
        """Let nobody in any more, and end when all batches asked for are delivered and copied.

        Until a job has copied what it was handed, its slots are its. It ends after a while in any
        case, and from then on nothing is written. Jobs see the connection close, and go on with
        the next daemon from what they have.
        """
        door.hide()  # who comes now starts another daemon
        if not self._draining:
            self._draining = True
            asyncio.get_running_loop().call_later(_DRAIN_S, self._end_sessions)
            for session in list(self.sessions.values()):
                self._end_if_drained(session)
            if not self.sessions:
                self.stop.set()

    def _end_if_drained(self, session: Session) -> None:
        if not self._draining or session.job is None:
            return
        # Who has no workers gets none any more: they would not find the door.
        waits = session.owed and self.pool.has_workers(session.job)
        if not waits and not self.engine.holds(session.job):
            session.end()

    def _end_sessions(self) -> None:
        self.stop.set()
        for session in list(self.sessions.values()):
            session.end()

    async def _let_in(self, sock: socket.socket) -> None:
        """Check who is there, hand the arena over, and begin a session."""
        loop = asyncio.get_running_loop()
        try:
            hello, pid = await handshake(sock)
            if hello.role == "client":
                self._hand_over(sock, self.arena.read_only_descriptor())
                self.clients += 1
                await loop.connect_accepted_socket(
                    lambda: Session(pid, self._from_client, self._ended, self.allowance), sock
                )
            elif hello.role == "nursery":
                link = self.pool.attend(hello.ticket, pid)
                welcome(sock, self.arena, [])
                await loop.connect_accepted_socket(lambda: link, sock)
            else:
                await self._let_worker_in(sock, hello, pid)
        except (JoaderError, OSError) as error:
            if self.stop.is_set():  # its memory is gone; the client will ask the next daemon
                sock.close()
            else:
                turn_away(sock, str(error))

    async def _let_worker_in(self, sock: socket.socket, hello: Hello, pid: int) -> None:
        if not self.pool.expects(hello.ticket, hello.number):
            raise BadMessage("nobody has asked for this worker, or its job is gone")
        desk = Desk()
        try:
            hand = self.pool.arrive(hello.ticket, hello.number, pid, desk)
            self._hand_over(sock, self.arena.writable_descriptor(), os.dup(desk.descriptor))
        except BaseException:
            desk.close()
            raise
        await asyncio.get_running_loop().connect_accepted_socket(lambda: hand, sock)

    def _hand_over(self, sock: socket.socket, *descriptors: int) -> None:
        try:
            welcome(sock, self.arena, list(descriptors))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    # Messages in.

    def _from_client(self, session: Session, message: Any) -> None:
        try:
            match message:
                case Register() if self._draining or self.stop.is_set():
                    session.end()  # it will ask the next daemon
                case Register():
                    self._register(session, message)
                case AskStatus():
                    session.send(Status(to_json(self.statistics())))
                case AskExplain():
                    pair = map(self._session_of, (message.one, message.other))
                    facts = reports.explained(self.engine, self._pieces, *pair)
                    session.send(Explained(json.dumps(facts).encode()))
                case Stop():
                    self.stop.set()
                case _ if session.job is None:
                    raise BadMessage(f"{type(message).__name__} before Register")
                case _:
                    self._from_job(session, session.job, message)
        except JoaderError as error:
            session.refuse(str(error))
        except Exception:
            log.exception("job %s, process %d: %.200r", session.job, session.pid, message)
            session.refuse("the daemon failed on a message: a bug, please report it with its log")

    def _from_job(self, session: Session, job: int, message: Any) -> None:
        match message:
            case Begin():
                if message.renew:
                    self.pool.renew(job)
                self._tell(replace(message, job=job))
                session.epoch, session.delivered = message.epoch, len(message.done)
                session.number, session.owed = message.number, 0
                self._end_if_drained(session)
            case Want() if self._draining:
                pass  # it will ask the next daemon
            case Want() if session.owed == MOST_OWED:
                raise BadMessage(f"{MOST_OWED} batches were asked for and not read; read them")
            case Want():
                session.owed += 1
                self._tell(replace(message, job=job, now=asyncio.get_running_loop().time()))
            case Know():
                if message.number == session.number:
                    self._tell(replace(message, job=job))
            case Release():
                self._tell(replace(message, job=job))
            case AskWhy():
                session.send(reports.why(self.engine, self.pool, self._pieces, session))
            case _:
                raise BadMessage(f"{type(message).__name__} is not for a daemon")

    def _register(self, session: Session, message: Register) -> None:
        if session.job is not None:
            raise BadMessage("a connection serves one job")
        join = message.join
        session.keep(join.rows.nbytes + len(message.about))
        self._jobs_made += 1
        job = session.job = self._jobs_made
        session.registered(message)
        self.sessions[job] = session
        try:
            is_new = bool(message.ticket) and not self.pool.dispatch.knows(message.ticket)
            if message.ticket:
                lent = Lent(
                    message.ticket,
                    join.recipe,
                    workers=message.workers,
                    lends=message.lends,
                    waits=message.waits,
                    timeout_s=message.timeout_s,
                )
                self.pool.join(job, session.pid, lent)
            self._tell(replace(self._numbered(session, message), job=job))
            if is_new and message.compare and not join.fresh:
                self._tell(Inspect(job))
        except Exception:
            self.sessions.pop(job, None)  # it never joined
            self.pool.leave(job)
            self._let_pieces_go(session)
            raise
        session.send(Registered(job))
        log.info("job %d joins: %s, process %d", job, session.name, session.pid)

    def _numbered(self, session: Session, message: Register) -> Join:
        """Return what the job reads as rows of its recipe, which may be others' too."""
        join = replace(message.join, reads_itself=not message.ticket)
        if not message.pieces:
            return join
        self._pieces.forget_all_but(self.engine.has_recipe)
        numbered = self._pieces.join(message.ground, join.recipe, message.pieces, join.rows)
        session.common = numbered.recipe
        return replace(
            join, recipe=numbered.recipe, rows=numbered.rows, row_limit=numbered.row_limit
        )

    def _let_pieces_go(self, session: Session) -> None:
        if session.common:
            self._pieces.leave(session.common, session.recipe)
            session.common = ""

    def _ended(self, session: Session) -> None:
        self.clients -= 1
        self.idle_since = asyncio.get_running_loop().time()
        if self._broken:
            return
        if session.job is not None and self.sessions.pop(session.job, None) is not None:
            self._note_totals(session.job)
            self._tell(Leave(session.job))
            self.pool.leave(session.job)
        self._let_pieces_go(session)
        if self._draining and not self.sessions:
            self.stop.set()

    def _from_pool(self, event: Event) -> None:
        try:
            match event:
                case Prepared():
                    self._layouts.note(event.samples, event.layout)
                case Sized() if max(event.sizes) > self.arena.size_bytes:
                    self.pool.drop(event.samples)
                case Compared() if not event.same:
                    self._differs(event)
                    return
            self._tell(event)
        except Exception:  # with what the engine believes now, samples would be mixed up
            self._end_in_disorder()

    def _differs(self, event: Compared) -> None:
        """Tell a job that it does not prepare as others do; it then shares nothing."""
        session = self.sessions.get(event.job)
        if session is not None:
            row = self.engine.row_of(event.job, event.sample)
            log.warning(
                "job %d (%s): row %d differs from what others prepared",
                *(event.job, session.name, row),
            )
            session.send(Differs(row))

    # Instructions out.

    def _tell(self, event: Event) -> None:
        """Let the engine take an event in; it says what follows at the end of this turn."""
        if self._broken:
            return
        self.engine.take(event)
        self._events += 1
        if self._record is not None:
            self._untold.append(event)
        if self._events == 1:
            asyncio.get_running_loop().call_soon(self._do)
        if self.engine.refuses:
            self._do()  # the engine knows that job no more: nothing may come between

    def _end_in_disorder(self) -> None:
        """End at once: what should have been done now is not known any more.

        Jobs go on with the next daemon from what they have.
        """
        log.exception("a bug in joader, please report it; the daemon ends, and jobs start another")
        self._broken = True
        self._end_sessions()

    def _do(self) -> None:
        """Do what follows from the events of this turn.

        Once the daemon ends, nothing: jobs may still copy what they were handed.
        """
        if self.stop.is_set():
            return
        try:
            self._carry_out()
        except Exception:
            self._end_in_disorder()

    def _carry_out(self) -> None:
        self._events = 0
        instructions = self.engine.say()
        if self._record is not None:
            self._record(self._untold, instructions)
            self._untold = []
        for instruction in instructions:
            match instruction:
                case Prepare():
                    self._prepare(instruction)
                case Finish():
                    layouts = tuple(map(self._layouts.of, instruction.sources))
                    self.pool.finish(replace(instruction, layouts=layouts))
                case Compare():
                    self._compare(instruction)
                case Place():
                    self.pool.place(instruction)
                case Drop():
                    self.pool.drop(instruction.samples)
                case Deliver():
                    self._deliver(instruction)
                case Announce():
                    session = self.sessions[instruction.job]
                    session.send(replace(instruction, number=session.number))
                case Refuse():
                    self._refuse(instruction)
                case Forget():
                    self._layouts.forget(instruction.samples)
        self.pool.feed()
        # Not before: what is said after a job's last batch may still be for that job.
        for session in list(self.sessions.values()) if self._draining else ():
            self._end_if_drained(session)

    def _refuse(self, refusal: Refuse) -> None:
        session = self.sessions.pop(refusal.job, None)
        if session is None:
            return
        self.pool.leave(refusal.job)
        if self._draining:
            session.end()  # the next daemon may have what it wants
        else:
            session.refuse(refusal.reason)

    def _prepare(self, order: Prepare) -> None:
        """Have rows prepared by whoever's workers can read them, those of their job first."""
        session = self.sessions.get(order.job)
        liked = session.recipe if session else ""
        if not self._pieces.has(order.recipe):
            self.pool.prepare(order, order.recipe)
            return
        located = [self._pieces.locate(order.recipe, row, liked) or ("", 0) for row in order.rows]
        for code in dict.fromkeys(code for code, _ in located):
            rows = {place: row for place, (whose, row) in enumerate(located) if whose == code}
            self.pool.prepare(part_of(order, rows), code)

    def _compare(self, order: Compare) -> None:
        recipe = self.sessions[order.job].recipe
        code, row = self._pieces.locate(order.recipe, order.row, recipe) or ("", 0)
        if code != recipe:  # its dataset does not have this piece
            self._tell(Compared(order.job, order.sample))
            return
        self.pool.compare(replace(order, row=row, layout=self._layouts.of(order.sample)))

    def _deliver(self, delivery: Deliver) -> None:
        session = self.sessions[delivery.job]
        layouts, new, forget = self._layouts.told(delivery.samples.tolist(), session.known_layouts)
        session.delivered += len(delivery.positions) - len(delivery.failed)
        session.owed -= 1
        session.send(
            replace(
                delivery,
                number=session.number,
                layouts=layouts,
                new_layouts=new,
                forget_layouts=forget,
            )
        )

    # Asked, told.

    def _session_of(self, job: int) -> Session:
        session = self.sessions.get(job)
        if session is None:
            raise BadMessage(f"no job {job} is served now")
        return session

    def statistics(self) -> NodeStatistics:
        """Return what `joader status --json` prints."""
        return reports.node(
            self.engine.statistics(),
            self.pool.statistics(),
            self.sessions.values(),
            past=self._past,
            config=self.config,
        )

    def _note_totals(self, job: int) -> None:
        """Keep the figures of a job that leaves."""
        got = self.engine.statistics().jobs[job]
        log.info("job %d leaves: %d delivered, %d prepared", job, got.delivered, got.prepared)
        self._past += got

    def _touch_ahead(self) -> None:
        """Have the kernel allocate the arena in steps, ahead of what is used."""
        touched = 0
        while touched < self.arena.size_bytes and not self.stop.is_set():
            wanted = self.engine.used_bytes + _TOUCH_STEP_BYTES
            if touched < wanted:
                touched = self.arena.touch(min(wanted, self.arena.size_bytes))
            else:
                threading.Event().wait(0.05)
