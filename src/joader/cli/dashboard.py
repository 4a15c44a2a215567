"""`joader dashboard`: find or start the page's process, and open the page in a browser."""

import json
import os
import sys
import time
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from joader.cli.console import write
from joader.cli.files import check_writable, write_text
from joader.client.watcher import Watcher
from joader.config import runtime_folder, socket_path, write_private
from joader.daemon.lifecycle import detached
from joader.dashboard import place
from joader.errors import BadArgument, MissingExtra, NoDaemon, Overdue, to_install
from joader.page import summary
from joader.statistics import RunStatistics, run_from_json, to_json

_START_S = 15.0
_LOOK_S = 0.05
_PACKAGES = ("starlette", "uvicorn", "prometheus_client")


def dashboard(port: int, browser: bool, as_json: bool) -> int:
    """Open the page of the dashboard that runs, or of a new one."""
    address = place.running() or started(port)
    if port and port != address.port:
        raise BadArgument(
            f"a dashboard already runs at port {address.port}, process {address.pid}; end it with "
            f"`kill {address.pid}` to use port {port}"
        )
    if as_json:
        write(json.dumps({**asdict(address), "url": address.url}) + "\n", sys.stdout)
    else:
        write(f"joader: {address.url}\n", sys.stdout)
    if browser and _can_show():
        _open(address)
    return 0


def beside_daemon() -> place.Address:
    """Return how to reach a dashboard that stays as long as the daemon does."""
    return place.running() or started(more=["--stay"])


def started(port: int = 0, more: Sequence[str] = ()) -> place.Address:
    """Start a dashboard in the background, and return how to reach it."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"the dashboard needs {', '.join(missing)}: {to_install('dashboard')}; "
            "`joader top` shows the same in a terminal"
        )
    log = runtime_folder() / "dashboard.log"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        words = [f"--socket={socket_path()}", f"--port={port}", *more]
        detached(["joader.dashboard.main", *words], descriptor)
    finally:
        os.close(descriptor)
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        address = place.running()
        if address is not None:
            return address
        said = log.read_text().strip()
        if said:
            raise NoDaemon(said.splitlines()[-1].removeprefix("joader: "))
        time.sleep(_LOOK_S)
    raise Overdue(f"the dashboard has not started within {_START_S:.0f} s; see {log}")


def save(path: str) -> int:
    """Write what there is to see now, or was when the last daemon ended, as one file."""
    if not path.endswith((".html", ".json")):
        raise BadArgument(f"{path!r} is neither .html nor .json; give a file name with one of them")
    check_writable(path)
    run = run_now_or_last()
    write_text(path, summary(run) if path.endswith(".html") else to_json(run).decode() + "\n")
    write(f"joader: {path}\n", sys.stdout)
    return 0


def run_now_or_last(since: float = 0.0) -> RunStatistics:
    """Return the figures of the daemon, or those that the last one has left."""
    try:
        with Watcher() as watcher:
            return watcher.run(since)
    except NoDaemon:
        last = runtime_folder() / "summary.json"
        if not last.exists():
            raise
        return run_from_json(last.read_bytes())


def _can_show() -> bool:
    """Tell whether a browser would have a screen: on a server it would only be in the way."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(address: place.Address) -> None:
    """Open the page without its token in the command line of a browser, which all users see."""
    path = runtime_folder() / "dashboard.html"
    write_private(
        path,
        b'<!doctype html><meta charset="utf-8"><title>joader</title>'
        + f'<meta http-equiv="refresh" content="0; url={address.url}">'.encode(),
    )
    webbrowser.open(f"file://{quote(str(Path(path)))}")
