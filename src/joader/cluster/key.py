"""The key of a cluster: nodes that have it are trusted, because jobs unpickle their samples.

It is the variable JOADER_CLUSTER_KEY, or a file that only its user can read. It is never sent: each
side proves that it has it, on random numbers that the other side has just drawn.
"""

import hmac
import os
import secrets
import stat
from pathlib import Path

from joader.config import write_private
from joader.errors import BadArgument, NoData

LEAST_LETTERS = 16
_VARIABLE = "JOADER_CLUSTER_KEY"


def key_path() -> Path:
    """Return the file that holds the key of this user's clusters."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return home / "joader" / "cluster.key"


def key(create: bool = False) -> bytes:
    """Return the key; with `create`, as for a leader, make one if there is none."""
    named = os.environ.get(_VARIABLE, "").strip()
    if named:
        return _checked(named, _VARIABLE)
    path = key_path()
    try:
        found = path.stat()
        text = path.read_text()
    except FileNotFoundError:
        if not create:
            raise NoData(
                f"a cluster needs a key, and {path} does not exist; copy that file from the node "
                f"that leads (mode 0600), or set {_VARIABLE} on all nodes"
            ) from None
        return _created(path)
    except UnicodeDecodeError as error:
        raise BadArgument(f"the cluster's key in {path} is not text; copy it again") from error
    except OSError as error:
        raise BadArgument(f"cannot read the cluster's key in {path}: {error}") from error
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise BadArgument(
            f"{path} can be read by others (mode {stat.S_IMODE(found.st_mode):04o}); "
            f"run: chmod 600 {path}"
        )
    return _checked(text.strip(), str(path))


def proof(key: bytes, who: bytes, *parts: bytes) -> bytes:
    """Prove the key on these parts; `who` keeps one side from replaying the other's proof."""
    lengths = b"".join(len(part).to_bytes(4, "big") for part in parts)
    return hmac.digest(key, who + lengths + b"".join(parts), "sha256")


def _checked(text: str, where: str) -> bytes:
    if len(text) < LEAST_LETTERS:
        raise BadArgument(
            f"the cluster's key in {where} has {len(text)} letters; use {LEAST_LETTERS} or more, "
            'for example of: python -c "import secrets; print(secrets.token_hex())"'
        )
    return text.encode()


def _created(path: Path) -> bytes:
    text = secrets.token_hex(32)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, f"{text}\n".encode(), replace=False)
    except FileExistsError:  # another node with the same home folder was faster
        return key()
    except OSError as error:
        raise BadArgument(
            f"cannot write the cluster's key to {path}: {error.strerror or error}; set {_VARIABLE} "
            "on all nodes instead"
        ) from error
    return text.encode()
