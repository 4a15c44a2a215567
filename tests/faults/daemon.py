"""A daemon under test: the real one, with its messages and decisions wrapped."""

import os
import socket
from pathlib import Path

from joader.daemon import main
from joader.daemon.session import Session
from joader.engine import Engine
from joader.workers import hand
from tests.faults.injector import Armed, Injector, around, in_transports

if __name__ == "__main__":
    injector = Injector(Armed(Path(os.environ["JOADER_FAULTS"])), "daemon")
    in_transports(injector)
    around(injector, "send Welcome", socket, "send_fds")
    around(injector, "plan", Engine, "say")
    around(injector, "leave", Session, "end")
    hand.MODULE = "tests.faults.worker"
    main.main()
