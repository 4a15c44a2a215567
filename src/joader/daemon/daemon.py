"""Messages become events, instructions become messages; also how the daemon ends.

Everything runs on one event loop in one thread, so the engine needs no lock. (Only `touch_ahead`
has a thread of its own: it makes the kernel allocate memory before it is needed.) Events are taken
in as they come, and what follows from all that came in one turn of the loop is sent and done once:
one round of decisions for many reports. The engine decides which row, which slot and who waits.

A daemon is
- *serving*: jobs come and ask;
- *draining* (`Drain.begun`): what was asked for is delivered, and nothing new is taken on. A job's
  session ends once it has copied all that it was handed; until then it owns those slots. Meanwhile
  other nodes of the cluster take over what only this one has (leaving.py);
- *ended* (`stop` is set): nothing is written to the arena any more.

It drains for DRAIN_S at most. Jobs see their connection close, and continue with the next daemon
from what they have.
"""

import asyncio
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from joader.cluster.leader_address import Address
from joader.config import DaemonConfig
from joader.daemon import experience_file, log_format, reports
from joader.daemon.alone import Alone
from joader.daemon.door import Door, most_clients
from joader.daemon.fetching import Fetching
from joader.daemon.guests import Guest, Guests
from joader.daemon.history import STEP_S, History
from joader.daemon.joining import joined
from joader.daemon.layouts import Layouts
from joader.daemon.neighbors import Neighbors
from joader.daemon.reception import Reception
from joader.daemon.registration import Registration
from joader.daemon.session import MOST_OWED, Session
from joader.engine import Engine
from joader.errors import BadMessage, JoaderError
from joader.memory import Arena
from joader.messages import (
    Announce,
    AskExplain,
    AskRun,
    AskStatus,
    AskWhy,
    Begin,
    Change,
    Compare,
    Compared,
    Deliver,
    Drew,
    Drop,
    Event,
    Explained,
    Finish,
    Forget,
    Grant,
    Instruction,
    Know,
    Meet,
    Place,
    Prepare,
    Prepared,
    Refuse,
    Register,
    Release,
    Run,
    Status,
    Steps,
    Stop,
    Want,
)
from joader.statistics import (
    EngineStatistics,
    NodeStatistics,
    PoolStatistics,
    RunStatistics,
    to_json,
)
from joader.wire import Allowance
from joader.workers.pool import Pool

Record = Callable[[list[Event], list[Instruction]], None]

log = logging.getLogger("joader.daemon")

# Unprocessed messages of clients may take as much memory as the budget, and at least this.
_LEAST_ALLOWANCE_BYTES = 256 * 2**20


class Daemon:
    """Owns the engine, the arena, the pool and the sessions of one node."""

    def __init__(self, config: DaemonConfig, record: Record | None = None) -> None:
        """Reserve the memory; workers come with jobs. `record` gets all events and instructions."""
        self.config = config
        self.arena = Arena(config.memory_bytes)
        self.seed = int.from_bytes(os.urandom(7), "big")
        life = 1 + int.from_bytes(os.urandom(7), "big")
        self.engine = Engine(self.arena.size_bytes, self.seed, life=life)
        self._record = record
        self._untold: list[Event] = []  # taken in since the last record
        self._events = 0  # taken in since the engine was last asked for instructions
        self.pool = Pool(
            config.workers,
            self._from_pool,
            config.worker_growth_bytes,
            read=lambda: self.engine.statistics().jobs,
            most_cores=0 if config.workers_given else os.cpu_count() or 0,
        )
        self.pool.change(policy=config.policy, cpu=config.cpu)
        self.pool.dispatch.learning.experience = experience_file.load()
        self.allowance = Allowance(max(_LEAST_ALLOWANCE_BYTES, config.memory_bytes))
        self.stop = asyncio.Event()
        self._broken = False
        self._layouts = Layouts()
        self.registration = Registration(self.engine, self.pool, self._tell)
        self.neighbors: Alone | Neighbors = Alone(self._from_client)
        self._meetings = asyncio.Lock()
        self.draining = Drain(
            *(self.engine, self.pool, self.sessions, self.stop),
            lambda done: self.neighbors.hand_over(done),
        )
        self.reception = Reception(
            self.arena,
            self.pool,
            most_clients=most_clients(config.workers),
            new_session=self._new_session,
            stop=self.stop,
        )
        self.history = History(asyncio.get_running_loop().time())
        self._note_moment()
        touch_ahead(self.arena, self.engine, self.stop)

    @property
    def sessions(self) -> dict[int, Session]:
        """The sessions of all registered jobs, by job."""
        return self.registration.sessions

    async def serve(self, door: Door) -> None:
        """Let clients in and serve them until `stop`."""
        await self.reception.receive(door)
        for session in list(self.sessions.values()):
            session.refuse("the daemon was told to end even if jobs read (`joader down --force`)")
        experience_file.keep(self.pool.dispatch.learning)
        await self.neighbors.leave()
        await self.pool.close()
        self.arena.close()

    async def join_cluster(self, address: Address, key: bytes = b"") -> None:
        """Join the cluster whose leader is at `address`; raise if that fails."""
        fetching = Fetching(self.pool, self.arena, self.config.workers, self._from_node)
        guests = Guests(self.engine, self.registration, self._tell, self.arena, self._layouts)
        met, alone = await joined(address, self.engine, fetching, guests, key), self.neighbors
        self.neighbors = met
        alone.end()

    def drain(self, door: Door) -> None:
        """End once all requested batches are delivered and copied."""
        self.draining.begin(door)

    def _new_session(self, pid: int, watches: bool) -> Session:
        session = Session(pid, self._from_client, self._ended, self.allowance, watches)
        session.tell = self._tell
        return session

    # Messages in.

    def _from_client(self, session: Session, message: Any) -> None:
        try:
            match message:
                case Register() if session.watches:
                    raise BadMessage("a watcher cannot register a job")
                case Register() if self.draining.begun or self.stop.is_set():
                    session.end()  # the client will ask the next daemon
                case Register():
                    if self.neighbors.take_rank(session, message):
                        self.registration.register(session, message)
                case AskStatus():
                    session.send(Status(to_json(self.statistics())))
                case Change():
                    self.pool.change(policy=message.policy, job=message.job, weight=message.weight)
                    session.send(Status(to_json(self.statistics())))
                case Meet():
                    self._meeting = asyncio.ensure_future(self._meet(session, message))
                case AskRun():
                    run = self.run_so_far(message.since)
                    session.send(Run(to_json(run)))
                case AskExplain():
                    pair = map(self.registration.session_of, (message.one, message.other))
                    facts = reports.explained(self.engine, self.registration.pieces, *pair)
                    session.send(Explained(json.dumps(facts).encode()))
                case Stop():
                    self.stop.set()
                case _ if session.job is None:
                    raise BadMessage(f"{type(message).__name__} before Register")
                case _:
                    self._from_job(session, session.job, message)
        except JoaderError as error:
            session.refuse(str(error))
        except Exception:  # a message of one client must not end the daemon for all others
            log.exception(
                "job %s, process %d: %.200r",
                *(session.job, session.pid, message),
                extra=log_format.event("bad_message", job=session.job, pid=session.pid),
            )
            session.refuse("the daemon failed on a message: a bug, please report it with its log")

    async def _meet(self, session: Session, message: Meet) -> None:
        try:
            address = Address.read(message.address)
            async with self._meetings:  # one after the other: a daemon is in one cluster
                if isinstance(self.neighbors, Neighbors):
                    self.neighbors.move(address)
                else:
                    await self.join_cluster(address, message.key.encode())
            session.send(Status(to_json(self.statistics())))
        except JoaderError as error:
            session.refuse(str(error))

    def _from_job(self, session: Session, job: int, message: Any) -> None:
        match message:
            case Begin():
                if message.renew:
                    self.pool.renew(job)
                session.tell(replace(message, job=job))
                session.epoch, session.delivered = message.epoch, len(message.done)
                # Batches requested in the pass before are not delivered any more.
                session.number, session.owed = message.number, 0
                self.draining.end_if_done(session)
            case Want() if self.draining.begun:
                pass  # the client will ask the next daemon
            case Want() if session.owed == MOST_OWED:
                raise BadMessage(f"{MOST_OWED} batches were asked for and not read; read them")
            case Want():
                session.owed += 1
                self.pool.wanted(job, message.count, message.step_s, message.wait_s)
                session.note_want(message)
                # By our clock, not the client's, because paces of jobs are compared.
                session.tell(replace(message, job=job, now=asyncio.get_running_loop().time()))
            case Know() if message.number != session.number:
                pass  # of a pass that was broken off
            case Know() | Release():
                session.tell(replace(message, job=job))
            case AskWhy():
                pieces, elsewhere = self.registration.pieces, self.neighbors.whereabouts
                if session.relay is None or not session.relay.asks_why():
                    session.send(reports.why(self.engine, self.pool, pieces, session, elsewhere))
            case _:
                raise BadMessage(f"{type(message).__name__} is not for a daemon")

    def _ended(self, session: Session) -> None:
        self.reception.client_left(session.watches)
        if self._broken:
            return  # the engine's state cannot be trusted: stop telling it events
        counted = self.engine.statistics() if session.job in self.sessions else None
        if counted is not None and session.job in counted.jobs:  # not if it is being refused
            self._keep_figures(session, counted)
        self.registration.leave(session, ending=self.draining.begun or self.stop.is_set())
        self.draining.stop_if_empty()

    def _keep_figures(self, session: Session, counted: EngineStatistics) -> None:
        others = [one for one in self.sessions.values() if not one.elsewhere]
        now = time.time()
        self.history.left(reports.job(session, others, counted, self.pool.statistics()), now)
        past = (job.id for job in self.history.past(now))
        self.registration.names.keep({*self.sessions, *past})

    def _from_pool(self, event: Event) -> None:
        try:
            match event:
                case Prepared():
                    self._layouts.note(event.samples, event.layout_of_each)
                case Compared() if not event.same:
                    self.registration.differs(event)
                    return
            self.neighbors.reported_here(event)
            self._tell(event)
        except Exception:  # the engine's state is wrong: it would mix up samples
            self._end_in_disorder()

    def _from_node(self, event: Event) -> None:
        """Take in an event from another node: a sample, or its progress."""
        if isinstance(event, Prepared):
            self._layouts.note(event.samples, event.layout_of_each)
        self._tell(event)

    # Instructions out.

    def _tell(self, event: Event) -> None:
        """Pass an event to the engine; instructions follow at the end of this turn."""
        if self._broken:
            return
        self.engine.take(event)
        self._events += 1
        if self._record is not None:
            self._untold.append(event)
        if self._events == 1:
            asyncio.get_running_loop().call_soon(self._do)
        if self.engine.refuses:
            self._do()  # the engine has forgotten that job: no message of it may come in between

    def _end_in_disorder(self) -> None:
        """End at once, because instructions of this turn are lost.

        Jobs continue with the next daemon from what they have.
        """
        log.exception(
            "this is a bug in joader, please report it; the daemon ends, and jobs start another",
            extra=log_format.event("daemon_broken", pid=os.getpid()),
        )
        self._broken = True
        self.draining.end_all()

    def _do(self) -> None:
        """Carry out the engine's instructions for the events of this turn.

        Does nothing once the daemon ends: jobs may still copy what they were handed.
        """
        if self.stop.is_set():
            return
        try:
            self._carry_out()
        except Exception:  # partly done: it can be neither repeated nor continued
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
                    complete = self._layouts.with_raw(instruction)
                    for order, code in self.registration.by_code(complete):
                        if (here := self.neighbors.take(order, code)) is not None:
                            self.pool.prepare(here, code)
                case Finish():
                    self.pool.finish(self._layouts.with_sources(instruction))
                case Compare():
                    self.registration.compare(instruction, self._layouts.of)
                case Place():
                    if (place := self.neighbors.place(instruction)) is not None:
                        self.pool.place(place)
                case Drop():
                    self.pool.drop(instruction.samples)
                    self.neighbors.drop(instruction.samples)
                case Deliver():
                    self._deliver(instruction)
                case Announce() | Steps() | Grant() | Drew():
                    session = self.sessions[instruction.job]
                    session.send(replace(instruction, number=session.number))
                case Refuse():
                    self._refuse(instruction)
                case Forget():
                    self._layouts.forget(instruction.samples)
        self.neighbors.flush()
        self.pool.feed()  # once per turn, so that workers get many rows in one message
        # Only now: instructions after a job's last batch may still be for that job.
        if self.draining.begun:
            self.draining.end_those_done()

    def _refuse(self, refusal: Refuse) -> None:
        session = self.registration.remove(refusal.job)
        if session is None:
            return
        log.info(
            "job %d is refused: %s",
            *(refusal.job, refusal.reason),
            extra=log_format.event("job_refused", job=refusal.job, name=session.name),
        )
        if self.draining.begun:
            session.end()  # the next daemon may be able to serve it
        else:
            session.refuse(refusal.reason)

    def _deliver(self, delivery: Deliver) -> None:
        session = self.sessions[delivery.job]
        if isinstance(session, Guest):
            session.deliver(delivery)
            return
        layouts, new, forget = self._layouts.told(delivery.samples.tolist(), session.known_layouts)
        session.deliver(replace(delivery, layouts=layouts, new_layouts=new, forget_layouts=forget))

    def statistics(self) -> NodeStatistics:
        """Return what `joader status --json` prints."""
        now = asyncio.get_running_loop().time()
        return self.history.seen(now, self._counted(self.pool.statistics()))

    def run_so_far(self, since: float = 0.0) -> RunStatistics:
        """Return the figures with their history since `since`, a time of the day."""
        return self.history.run(self.statistics(), since, self.registration.names.labels)

    def _counted(self, pool: PoolStatistics) -> NodeStatistics:
        counted = self.engine.statistics()
        told = reports.node(
            *(counted, pool, self.sessions.values()),
            past=self.registration.past,
            config=self.config,
            cluster=self.neighbors.statistics(counted.memory),
        )
        self.neighbors.delivered = told.totals.delivered
        return told

    def _note_moment(self) -> None:
        """Record the last second's activity; reschedules itself."""
        loop = asyncio.get_running_loop()
        if self.stop.is_set():
            return
        loop.call_later(STEP_S, self._note_moment)
        pool = self.pool.statistics()
        self.history.note(loop.time(), self._counted(pool), pool.cpu_s)


# After SIGTERM, how long the delivery of requested batches may take.
DRAIN_S = 10.0


class Drain:
    """Ends a daemon without cutting off a batch that was asked for."""

    def __init__(
        self,
        engine: Engine,
        pool: Pool,
        sessions: Mapping[int, Session],
        stop: asyncio.Event,
        hand_over: Callable[[Callable[[], None]], None],
    ) -> None:
        """Watch `sessions`; set `stop` once all have ended and all is handed over."""
        self.begun = False
        self._hand_over, self._hands_over = hand_over, True
        self._engine = engine
        self._pool = pool
        self._sessions = sessions
        self._stop = stop

    def begin(self, door: Door) -> None:
        """Close the door, and end once all requested batches are delivered and copied."""
        door.hide()  # clients that come now start another daemon
        if self.begun:
            return
        self.begun = True
        asyncio.get_running_loop().call_later(DRAIN_S, self.end_all)
        self._hand_over(self._handed_over)
        self.end_those_done()
        self.stop_if_empty()

    def _handed_over(self) -> None:
        self._hands_over = False
        self.end_those_done()
        self.stop_if_empty()

    def end_those_done(self) -> None:
        """End all sessions that have received and copied what they asked for."""
        for session in list(self._sessions.values()):  # a session that ends removes itself
            self.end_if_done(session)

    def end_if_done(self, session: Session) -> None:
        """End a session that has received and copied what it asked for."""
        if not self.begun or session.job is None or (self._hands_over and session.elsewhere):
            return  # other nodes take what is here
        # A job without workers gets none any more: the door is closed.
        waits = session.owed and self._pool.has_workers(session.job)
        if not waits and not self._engine.holds(session.job):
            session.end()

    def stop_if_empty(self) -> None:
        """Set `stop` if no job is left."""
        # Does not wait for nodes that fetch from here: they prepare the rest themselves.
        readers = any(not session.elsewhere for session in self._sessions.values())
        if self.begun and not self._hands_over and not readers:
            self._stop.set()

    def end_all(self) -> None:
        """End now, even if jobs wait."""
        # Set first: sessions that end tell the engine, and its instructions must not be carried
        # out.
        self._stop.set()
        for session in list(self._sessions.values()):
            session.end()


# How far touched memory stays ahead of used memory.
_STEP_BYTES = 256 * 2**20


def touch_ahead(arena: Arena, engine: Engine, stop: asyncio.Event) -> None:
    """Have the kernel allocate the arena in steps, ahead of its use, until `stop`."""
    thread = threading.Thread(target=_touch, args=(arena, engine, stop), daemon=True)
    thread.start()


def _touch(arena: Arena, engine: Engine, stop: asyncio.Event) -> None:
    # The first use of a page is slow; done here it delays no batch. Not all at once: memory that is
    # never needed stays free for other programs.
    touched = 0
    while touched < arena.size_bytes and not stop.is_set():
        wanted = min(engine.reached_bytes + _STEP_BYTES, arena.size_bytes)
        if touched < wanted:
            touched = arena.touch(wanted)
        time.sleep(0.05)
