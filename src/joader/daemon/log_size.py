"""The daemon's log, kept short: a daemon may run for months, and notes every job and lost worker.

Only a regular file that is opened for appending is cut, as the one in the runtime folder is:
whoever writes to it goes on at its new end. Anything else is not ours to change.
"""

import fcntl
import os
import stat

MOST_BYTES = 16 * 2**20
KEPT_BYTES = 4 * 2**20


def keep_short(descriptor: int, most_bytes: int = MOST_BYTES, kept_bytes: int = KEPT_BYTES) -> None:
    """Leave the last lines of a log that has grown too long."""
    info = os.fstat(descriptor)
    appends = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
    if info.st_size <= most_bytes or not stat.S_ISREG(info.st_mode) or not appends:
        return
    # Opened again, as our descriptor is only for writing.
    with open(f"/proc/self/fd/{descriptor}", "rb") as log:
        log.seek(info.st_size - kept_bytes)
        log.readline()  # most likely half a line
        rest = log.read(kept_bytes)
    cut_bytes = info.st_size - len(rest)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"[joader: {cut_bytes} bytes of older lines were cut]\n".encode() + rest)
