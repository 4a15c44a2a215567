"""Identifies this machine, because measurements on one machine say nothing about another.

It covers the processor, the number of processors, memory and GPUs; not the kernel, and not the
limits of a cgroup, which change from one start to the next.
"""

import json
import os
from hashlib import blake2b
from pathlib import Path

from joader.daemon.machine import total_bytes

_ROOT = Path("/")


def machine_in_words(root: Path = _ROOT) -> dict[str, str]:
    """Return the words that identify a machine, readable for people."""
    return {
        "processor": _processor(root),
        "processors": str(os.cpu_count() or 1),
        "memory": f"{total_bytes(root) / 2**30:.0f} GiB",
        "gpus": ", ".join(_gpus(root)) or "none",
    }


def machine_name(words: dict[str, str]) -> str:
    """Return a short name; two are equal if and only if all their words are."""
    text = json.dumps(words, sort_keys=True)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _processor(root: Path) -> str:
    # Intel and AMD give a "model name"; others give numbers.
    found = dict.fromkeys(("model name", "CPU implementer", "CPU part"), "")
    for line in _text(root / "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if found.get(name.strip()) == "":
            found[name.strip()] = value.strip()
    return " ".join(value for value in found.values() if value) or "unknown"


def _gpus(root: Path) -> list[str]:
    folders = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    lines = [line for path in folders for line in _text(path).splitlines()]
    return [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
