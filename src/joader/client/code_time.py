"""When the job's own code was last changed: workers that are older have to be replaced.

A worker keeps the modules it has imported. Libraries are not looked at: who upgrades one starts a
new interpreter, and ends the daemon.
"""

import os
import sys


def code_time() -> float:
    """Return the time of the last change of any module of the job outside its libraries."""
    libraries = tuple({sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(__file__))})
    newest = 0.0
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and not path.startswith(libraries):
            try:
                newest = max(newest, os.stat(path).st_mtime)
            except OSError:  # in an archive, or gone
                continue
    return newest
