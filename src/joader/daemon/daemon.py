"""Messages become events, instructions become messages.

Everything runs on one event loop and in one thread (but for touching memory ahead), so the engine
needs no lock. Events are taken in as they come, and what follows from all that came in one turn of
the loop is said and done once: one round of decisions for many reports. The daemon decides nothing:
which row, which slot, who waits are the engine's.
"""

import asyncio
import json
import logging
import math
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from joader.config import DaemonConfig
from joader.daemon import telling
from joader.daemon.door import Door, most_clients, turn_away
from joader.daemon.handshake import handshake, welcome
from joader.daemon.layouts import Layouts
from joader.daemon.machine import cgroup
from joader.daemon.session import MOST_OWED, Session
from joader.engine import Engine
from joader.engine import values as engine
from joader.engine.pieces import Numbered, Pieces
from joader.errors import BadMessage, JoaderError
from joader.memory import Arena
from joader.messages import (
    AskExplain,
    AskStatus,
    AskWhy,
    BatchReady,
    Check,
    Cook,
    Cooked,
    CookedEach,
    Differs,
    Explained,
    Finish,
    GiveBack,
    Hello,
    NextBatch,
    PlanAhead,
    PlanKnown,
    PutAt,
    Register,
    Registered,
    Spoiled,
    StartPass,
    Status,
    Stop,
    TakeBackPlan,
    TooBig,
    packed,
    unpacked,
)
from joader.recipe.randomness import key_of
from joader.wire import Allowance
from joader.workers.desk import Desk
from joader.workers.pool import Pool

Record = Callable[[list[engine.Event], list[engine.Instruction]], None]

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
        self._untold: list[engine.Event] = []  # taken in since the last record
        self._events = 0  # taken in since the engine last said what follows
        self.pool = Pool(
            config.workers,
            self._from_worker,
            self._lost,
            self._late,
            self._checked,
            self._limit_of,
            config.worker_growth_bytes,
        )
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
        self._past = {"delivered": 0, "prepared": 0, "hits": 0, "shared": 0}  # of jobs that left
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
                    session.send(Status(json.dumps(self.status()).encode()))
                case AskExplain():
                    pair = map(self._session_of, (message.one, message.other))
                    facts = telling.explained(self.engine, self._pieces, *pair)
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
            case StartPass():
                if message.renew:
                    self.pool.renew(job)
                plan = tuple((unpacked(step), repeated) for step, repeated in message.plan)
                done, taken = unpacked(message.done), message.taken
                self._tell(engine.Begin(job, message.epoch, done, message.key, taken, plan))
                session.epoch, session.delivered = message.epoch, len(message.done) // 8
                session.number, session.owed = message.number, 0
                self._end_if_drained(session)
            case NextBatch() if self._draining:
                pass  # it will ask the next daemon
            case NextBatch() if session.owed == MOST_OWED:
                raise BadMessage(f"{MOST_OWED} batches were asked for and not read; read them")
            case NextBatch():
                session.owed += 1
                now = asyncio.get_running_loop().time()
                told = unpacked(message.positions) if message.positions else None
                times = unpacked(message.times) if message.times else None
                self._tell(engine.Want(job, message.count, now, told, times))
            case PlanKnown():
                if message.number == session.number:
                    self._tell(engine.Know(job, message.count))
            case GiveBack():
                self._tell(engine.Release(job, unpacked(message.samples)))
            case TakeBackPlan():
                self._tell(engine.TakeBack(job))
            case AskWhy():
                session.send(telling.why(self.engine, self.pool, self._pieces, session))
            case _:
                raise BadMessage(f"{type(message).__name__} is not for a daemon")

    def _register(self, session: Session, message: Register) -> None:
        if session.job is not None:
            raise BadMessage("a connection serves one job")
        session.keep(len(message.rows) + len(message.about))
        self._jobs_made += 1
        session.job = self._jobs_made
        session.registered(message)
        self.sessions[session.job] = session
        try:
            is_new = bool(message.ticket) and not self.pool.is_known(message.ticket)
            if message.ticket:
                self.pool.join(
                    session.job,
                    message.ticket,
                    message.recipe,
                    message.workers,
                    message.lends,
                    waits=message.waits,
                )
            numbered = self._numbered(session, message)
            self._tell(
                engine.Join(
                    job=session.job,
                    recipe=numbered.recipe,
                    rows=numbered.rows,
                    row_limit=numbered.row_limit,
                    batch_size=message.batch_size,
                    order=message.order,
                    seed=message.seed,
                    fresh=message.fresh,
                    own=message.own,
                    team=message.team,
                    rank=message.rank,
                    world_size=message.world_size,
                    drop_last=message.drop_last,
                    reads_for=message.reads_for,
                    reads_itself=not message.ticket,
                )
            )
            if is_new and message.compare and not message.fresh:
                self._tell(engine.Inspect(session.job))
        except Exception:
            self.sessions.pop(session.job, None)  # it never joined
            self.pool.leave(session.job, session.pid)
            self._let_pieces_go(session)
            raise
        session.send(Registered(session.job))
        log.info("job %d joins: %s, process %d", session.job, session.name, session.pid)

    def _numbered(self, session: Session, message: Register) -> Numbered:
        """Return the job's rows as those of its recipe, which may be others' too."""
        rows = unpacked(message.rows)
        if not message.pieces:
            return Numbered(message.recipe, rows, message.row_limit)
        self._pieces.forget_all_but(self.engine.has_recipe)
        numbered = self._pieces.join(message.ground, message.recipe, message.pieces, rows)
        session.common = numbered.recipe
        return numbered

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
            self._tell(engine.Leave(session.job))
            self._unread(self.pool.leave(session.job, session.pid))
        self._let_pieces_go(session)
        if self._draining and not self.sessions:
            self.stop.set()

    def _unread(self, samples: tuple[int, ...]) -> None:
        """Tell the engine of samples that no worker will prepare, as their code is gone.

        Where another job waits for one, that job's code will do.
        """
        if samples:
            gone = (*samples, *self.pool.let_go(samples))
            self._tell(engine.Lost(gone, "nobody reads it any more", blamed=False))

    def _from_worker(self, message: Cooked | CookedEach | TooBig | Spoiled) -> None:
        try:
            self._take_report(message)
        except Exception:  # with what the engine believes now, samples would be mixed up
            self._end_in_disorder()

    def _take_report(self, message: Cooked | CookedEach | TooBig | Spoiled) -> None:
        match message:
            case CookedEach():
                self._layouts.note(message.samples, message.layout)
                self._tell(engine.PreparedEach(message.samples, message.size_bytes))
            case Cooked():
                self._layouts.note((message.sample,), message.layout)
                self._tell(engine.Prepared(message.sample, message.size_bytes))
            case TooBig():
                if message.size_bytes > self.arena.size_bytes:
                    self.pool.drop(message.sample)
                self._tell(engine.Sized(message.sample, message.size_bytes))
            case Spoiled():
                self._tell(engine.Failed(message.sample, message.reason))

    def _lost(self, samples: tuple[int, ...], reason: str, blamed: bool) -> None:
        log.warning("%d samples lost: %s", len(samples), reason)
        self._tell(engine.Lost(samples, reason, blamed))

    def _late(self, samples: tuple[int, ...]) -> None:
        self._tell(engine.Late(samples))

    def _checked(self, job: int, sample: int, same: bool) -> None:
        """Let a job go on that prepares as others do; tell one that does not."""
        session = self.sessions.get(job)
        if session is None:
            return
        if same:
            self._tell(engine.Compared(job, sample))
            return
        row = self.engine.row_of(job, sample)
        log.warning("job %d (%s): row %d differs from what others prepared", job, session.name, row)
        session.send(Differs(row))

    def _limit_of(self, recipe: str, job: int | None) -> float:
        """Return how long a row of a recipe, or an own part of a job, may take: the longest any
        of its readers would wait, so that an impatient job does not spoil it for another."""
        readers = (
            session
            for session in self.sessions.values()
            if (session.recipe == recipe if job is None else session.job == job)
        )
        return max((session.timeout_s for session in readers), default=math.inf)

    # Instructions out.

    def _tell(self, event: engine.Event) -> None:
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
                case engine.Prepare():
                    self._cook(instruction)
                case engine.Finish():
                    self.pool.finish(
                        Finish(
                            sample=instruction.sample,
                            job=instruction.job,
                            source=instruction.source,
                            source_offset=instruction.source_offset,
                            layout=self._layouts.of(instruction.source),
                            offset=instruction.offset,
                            size_bytes=instruction.size_bytes,
                            key=key_of(instruction.key, instruction.position, instruction.times),
                        )
                    )
                case engine.Compare():
                    self._compare(instruction)
                case engine.Place() if instruction.offset < 0:
                    self.pool.drop(instruction.sample)
                case engine.Place():
                    self.pool.put_at(
                        PutAt(instruction.sample, instruction.offset, instruction.size_bytes)
                    )
                case engine.Deliver():
                    self._deliver(instruction)
                case engine.Announce():
                    steps = tuple((packed(step), repeated) for step, repeated in instruction.steps)
                    session = self.sessions[instruction.job]
                    session.send(PlanAhead(session.number, steps, instruction.key))
                case engine.Refuse():
                    refused = self.sessions.pop(instruction.job, None)
                    if refused is not None:
                        self._unread(self.pool.leave(instruction.job, refused.pid))
                    if refused is not None and self._draining:
                        refused.end()  # the next daemon may have what it wants
                    elif refused is not None:
                        refused.refuse(instruction.reason)
                case engine.Forget():
                    self._layouts.forget(instruction.samples)
        self.pool.feed()
        # Not before: what is said after a job's last batch may still be for that job.
        for session in list(self.sessions.values()) if self._draining else ():
            self._end_if_drained(session)

    def _cook(self, order: engine.Prepare) -> None:
        """Have a row prepared by whoever's workers can read it, those of its job first."""
        session = self.sessions.get(order.job)
        liked = session.recipe if session else ""
        code, row = self._pieces.locate(order.recipe, order.row, liked) or ("", 0)
        key = key_of(order.key, order.position, order.times)
        cook = Cook(order.sample, row, order.offset, order.size_bytes, key)
        if not self.pool.cook(cook, code, order.job):  # who could has just left
            self._unread((order.sample,))

    def _compare(self, order: engine.Compare) -> None:
        recipe = self.sessions[order.job].recipe
        code, row = self._pieces.locate(order.recipe, order.row, recipe) or ("", 0)
        if code != recipe:  # its dataset does not have this piece
            self._tell(engine.Compared(order.job, order.sample))
            return
        layout = self._layouts.of(order.sample)
        self.pool.check(order.job, Check(order.sample, row, order.offset, layout))

    def _deliver(self, delivery: engine.Deliver) -> None:
        session = self.sessions[delivery.job]
        layouts, new, forget = self._layouts.told(delivery.samples.tolist(), session.known_layouts)
        session.delivered += len(delivery.positions) - len(delivery.failed)
        session.owed -= 1
        session.send(
            BatchReady(
                number=session.number,
                positions=packed(delivery.positions),
                samples=packed(delivery.samples),
                offsets=packed(delivery.offsets),
                layouts=layouts,
                new_layouts=new,
                failed=delivery.failed,
                prepared=delivery.prepared,
                shared=delivery.shared,
                repeated=delivery.repeated,
                absent=packed(delivery.absent) if len(delivery.absent) else b"",
                forget_layouts=forget,
            )
        )

    # Asked, told.

    def _session_of(self, job: int) -> Session:
        session = self.sessions.get(job)
        if session is None:
            raise BadMessage(f"no job {job} is served now")
        return session

    def status(self) -> dict[str, Any]:
        """Return what `joader status --json` prints."""
        told = telling.status(self.engine, self.sessions, self._past)
        told["memory"]["budget_bytes"] = self.arena.size_bytes
        processes = self.pool.processes()
        return {
            **told,
            "workers": len(processes),
            "worker_processes": processes,
            "started_by": self.config.started_by or None,
            "cgroup": cgroup(),
        }

    def _note_totals(self, job: int) -> None:
        """Keep the figures of a job that leaves."""
        stats = self.engine.stats(job)
        log.info("job %d leaves: %d delivered, %d prepared", job, stats.delivered, stats.prepared)
        for name in self._past:
            self._past[name] += getattr(stats, name)

    def _touch_ahead(self) -> None:
        """Have the kernel allocate the arena in steps, ahead of what is used."""
        touched = 0
        while touched < self.arena.size_bytes and not self.stop.is_set():
            wanted = self.engine.used_bytes + _TOUCH_STEP_BYTES
            if touched < wanted:
                touched = self.arena.touch(min(wanted, self.arena.size_bytes))
            else:
                threading.Event().wait(0.05)
