"""What this process is called by the daemon: a random name, and another one after a fork.

All that it reads, with whichever of its loaders, it reads for this name. So a script that makes a
loader for each epoch never gets the same random sample twice, and its passes are of one job.
"""

import os

from joader.client.order.source import random_key

_name = str(random_key())


def process_name() -> str:
    """Return the name of this process."""
    return _name


def _rename() -> None:
    global _name
    _name = str(random_key())


os.register_at_fork(after_in_child=_rename)
