"""A daemon under test: the real one, with its messages and decisions wrapped."""

import os
from pathlib import Path

from joader.daemon import main, reception
from joader.daemon.session import Session
from joader.engine import Engine
from joader.workers.pool import Pool
from tests.faults.injector import Armed, Injector, around, in_transports

if __name__ == "__main__":
    injector = Injector(Armed(Path(os.environ["JOADER_FAULTS"])), "daemon")
    in_transports(injector)
    around(injector, "send Welcome", reception, "welcome")
    around(injector, "attend", Pool, "attend")
    around(injector, "arrive", Pool, "arrive")
    around(injector, "lost", Pool, "ended")
    around(injector, "plan", Engine, "say")
    around(injector, "leave", Session, "end")
    main.main()
