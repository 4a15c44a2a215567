"""Start a program as an orphan: `python detach.py PROGRAM ARGUMENT...` prints its process.

The starter waits for this process, which ends at once, so it keeps no child it would have to wait
for: no zombie when the daemon ends, no warning about a process that still runs. A fork in the
starter itself would copy its threads' locks. It is a separate script, run by its path and without
site-packages: it starts in 15 ms and imports nothing of joader.
"""

import os
import sys

if __name__ == "__main__":
    child = os.fork()
    if child == 0:
        # Standard output is the starter's pipe, which ends when no process holds it.
        os.dup2(2, 1)
        os.execv(sys.argv[1], sys.argv[1:])
    print(child)
