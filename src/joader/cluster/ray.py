"""A cluster on Ray, which lists the nodes and keeps the leader alive. Only this file imports Ray.

There are two kinds of actors, neither of which handles rows. The *leader* (a single named actor,
restarted by Ray on any node) is the same leader as at an address; its key is an argument, so that a
restarted one has it, too. A *keeper* on every node starts the node's daemon if there is none, and
tells it the leader's present address. The daemon is a separate process: it outlives its keeper and
Ray, and continues without them with the nodes it knows.
"""

import asyncio
import logging
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from joader.cluster.leader import Leader
from joader.cluster.listener import Listener, listening
from joader.config import socket_path
from joader.errors import MissingExtra, NoDaemon, Overdue, Refusal, to_install
from joader.messages import PROTOCOL, Hello, Meet, Refuse, Status
from joader.statistics import from_json
from joader.wire import Channel, connected_to, welcomed

log = logging.getLogger("joader.cluster")

_NAMESPACE, _LEADER = "joader", "joader-leader"
# How often keepers ask for the leader's address, and the leader looks for new nodes.
_LOOK_S = 1.0
# How long starting may take before a message, and before an error.
_UP_S, _LONGEST_S = 60.0, 600.0
_ANSWER_S = 15.0
# How long connecting to Ray may take, and then its first answer.
_GREETING_S = 4.0
# The preface of HTTP/2, and an empty SETTINGS frame: length, type (4), flags, stream.
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_NO_SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def start(memory: str | None = None, address: str | None = None) -> list[str]:
    """Run a joader daemon on every node of Ray, all in one cluster; return their names.

    If this process is not connected to Ray, it connects only for the duration of the call: how the
    script connects is left to the script. `memory` is for each daemon that is started.
    """
    ray = _ray()
    with _connected(ray, address):
        leader = (
            ray.remote(_LeaderActor)
            .options(
                name=_LEADER,
                namespace=_NAMESPACE,
                get_if_exists=True,
                lifetime="detached",
                max_restarts=-1,
                max_task_retries=-1,
                num_cpus=0,
            )
            .remote(secrets.token_hex(32), memory)
        )
        return _all_up(ray, leader)


def stop(address: str | None = None) -> None:
    """End leader and keepers; daemons continue until `joader down`."""
    ray = _ray()
    with _connected(ray, address), suppress(ValueError):
        leader = ray.get_actor(_LEADER, namespace=_NAMESPACE)
        ray.get(leader.end.remote(), timeout=_UP_S)
        ray.kill(leader)


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """Connect to Ray for the duration of the block, unless the script is connected.

    A connection fixes the namespace and whether output of tasks is shown, and a second `ray.init()`
    raises. So ours must be gone before the script opens its own.
    """
    if ray.is_initialized():
        yield
        return
    named = address or "auto"
    try:
        _check_answers(ray, named)
        ray.init(address=named, namespace=_NAMESPACE, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        said = str(error).rstrip(".")
        raise NoDaemon(
            f"cannot reach Ray at {named}: {said}; start it with `ray start --head`, or give its "
            "address"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _all_up(ray: Any, leader: Any) -> list[str]:
    """Wait until every node has its daemon; Ray reports failed starts, but has no timeout.

    On a busy machine a single process of Ray takes a minute, so slowness is not an error yet.
    """
    up = leader.all_up.remote()
    try:
        if not ray.wait([up], timeout=_UP_S)[0]:
            log.warning(
                "Ray is still starting joader's actors on its nodes, after %.0f s; waiting up to "
                "%.0f min",
                *(_UP_S, _LONGEST_S / 60),
            )
        names: list[str] = ray.get(up, timeout=_LONGEST_S)
    except ray.exceptions.GetTimeoutError as error:
        raise Overdue(
            f"not all of Ray's nodes had a joader daemon within {_LONGEST_S / 60:.0f} min; see "
            "`ray status`, and Ray's logs of the actors joader-leader and joader-keeper"
        ) from error
    except ray.exceptions.RayError as error:
        raise NoDaemon(
            f"Ray could not start joader on its nodes (is it installed on all of them?): {error}"
        ) from error
    return names


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingExtra(
            f"a cluster on Ray needs Ray, which is not installed; run: {to_install('ray')}, "
            "or use --cluster HOST:PORT, which needs nothing"
        ) from error
    return ray


def _check_answers(ray: Any, named: str) -> None:
    """Raise OSError if no Ray listens at an address: Ray itself would try for minutes.

    Its nodes speak HTTP/2, in which a server answers with its settings.
    """
    given = named
    find = getattr(ray._private.services, "canonicalize_bootstrap_address", None)
    if named == "auto" and find is not None:  # RAY_ADDRESS, or the Ray running here
        named = find(named) or named
    host, _, port = named.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
        return  # Ray reports the error itself
    try:
        with socket.create_connection((host, int(port)), _GREETING_S) as sock:
            sock.sendall(_HTTP2 + _NO_SETTINGS)
            answer = sock.recv(len(_NO_SETTINGS), socket.MSG_WAITALL)
    except OSError as error:
        found = "" if named == given else f"{named}: "
        raise ConnectionError(f"{found}{error}") from error
    if answer[3:4] != _NO_SETTINGS[3:4]:
        raise ConnectionError(f"the process listening at {host}:{port} is not Ray")


class _LeaderActor:
    """Leads the cluster, and keeps a keeper on every node."""

    def __init__(self, key: str, memory: str | None) -> None:
        self._key, self._memory = key, memory
        self._listener: Listener | None = None
        self._leader: Leader | None = None
        self._keepers: dict[str, Any] = {}  # by Ray's id of the node
        self._tasks: set[asyncio.Task[None]] = set()

    async def where(self) -> tuple[str, str]:
        """Return the leader's address and key."""
        host = str(_ray().util.get_node_ip_address())
        if self._listener is None:
            self._leader = Leader("ray")
            self._listener = Listener(listening(host, 0), self._key.encode(), self._leader.admit)
            task = asyncio.ensure_future(self._look())
            self._tasks.add(task)
        return f"{host}:{self._listener.port}", self._key

    async def all_up(self) -> list[str]:
        """Wait until every present node has a daemon in the cluster."""
        await self.where()
        await self._place_keepers()
        return list(await asyncio.gather(*(k.up.remote() for k in self._keepers.values())))

    async def end(self) -> None:
        """End all keepers."""
        for task in self._tasks:
            task.cancel()
        for keeper in self._keepers.values():
            _ray().kill(keeper)

    async def _look(self) -> None:
        """Start keepers on new nodes, forever."""
        while True:
            await asyncio.sleep(_LOOK_S)
            await self._place_keepers()

    async def _place_keepers(self) -> None:
        ray = _ray()
        nodes = await asyncio.get_running_loop().run_in_executor(None, ray.nodes)
        alive = {node["NodeID"] for node in nodes if node["Alive"]}
        for gone in self._keepers.keys() - alive:
            del self._keepers[gone]
        for node in alive - self._keepers.keys():
            here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            keeper = ray.remote(_KeeperActor).options(
                name=f"joader-keeper-{node}",
                namespace=_NAMESPACE,
                get_if_exists=True,
                lifetime="detached",
                max_restarts=-1,
                num_cpus=0,
                scheduling_strategy=here,
            )
            self._keepers[node] = keeper.remote(self._memory)
            self._keepers[node].follow.remote()  # it outlives a restart of ours


class _KeeperActor:
    """Joins the daemon of one node to the cluster, and tells it where the leader is."""

    def __init__(self, memory: str | None) -> None:
        self._memory = memory
        self._following: asyncio.Task[None] | None = None

    async def up(self) -> str:
        """Have a daemon of this node in the cluster; return the node's name."""
        loop = asyncio.get_running_loop()
        path = await loop.run_in_executor(None, _daemon, self._memory)
        leader = _ray().get_actor(_LEADER, namespace=_NAMESPACE)
        address, key = await leader.where.remote()
        status = await loop.run_in_executor(None, _meet, path, address, key)
        return status

    async def follow(self) -> None:
        """Keep the daemon running and up to date, forever."""
        if self._following is None:
            self._following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            with suppress(Exception):  # the leader or the daemon is being restarted: retry later
                leader = _ray().get_actor(_LEADER, namespace=_NAMESPACE)
                address, key = await asyncio.wait_for(leader.where.remote(), 10)
                loop = asyncio.get_running_loop()
                path = await loop.run_in_executor(None, _daemon, self._memory)
                await loop.run_in_executor(None, _meet, path, address, key)


def _daemon(memory: str | None) -> Path:
    """Return the socket of this node's daemon; start one if there is none."""
    path = socket_path()
    try:
        connected_to(path, _ANSWER_S).close()
        return path
    except NoDaemon:
        pass
    more = [f"--memory={memory}"] if memory else []
    command = [sys.executable, "-m", "joader", "up", "--detach", "--no-dashboard", *more]
    started = subprocess.run(command, capture_output=True, text=True, check=False)
    if started.returncode and "already runs" not in started.stderr:
        raise NoDaemon(f"cannot start a daemon: {started.stderr.strip()}")
    return path


def _meet(path: Path, address: str, key: str) -> str:
    """Have a daemon join the leader at an address, or switch to it; return its node's name."""
    sock = connected_to(path, _ANSWER_S)
    try:
        sock.settimeout(_ANSWER_S)
        welcomed(sock, Hello(PROTOCOL, os.getpid(), "watcher"), 0)
        channel: Channel[Status | Refuse] = Channel(sock, Status | Refuse)
        channel.send(Meet(address, key))
        answer = channel.receive(_ANSWER_S)
    except TimeoutError as error:
        raise Overdue(f"the daemon at {path} has not answered within {_ANSWER_S:.0f} s") from error
    finally:
        sock.close()
    if isinstance(answer, Refuse):
        raise Refusal(answer.reason)
    return _name_in(answer.body)


def _name_in(body: bytes) -> str:
    cluster = from_json(body).cluster
    if cluster is None:
        raise NoDaemon("the daemon did not join a cluster")
    return cluster.name
