"""The table of idioms: how people use a loader, each with its script in scripts/."""

import subprocess
from pathlib import Path

from tests.drop_in.harness import Idiom, Run

FORK = ("fork",)
# Where workers must be able to import the script; the hardest first.
FORKSERVER_FIRST = ("forkserver", "spawn", "fork")
# Scripts with dozens of loaders: each spawned worker imports torch, 1.5 s of it, where those of a
# forkserver have it already. What a worker knows of the job is the same for both.
NO_SPAWN = ("fork", "forkserver")


def _folders(folder: Path) -> None:
    for name in ("a", "b"):
        for part in (f"{name}/data", f"{name}/below/data"):
            (folder / part).mkdir(parents=True)
            (folder / part / "value.txt").write_text(part)


def _mounts(folder: Path) -> None:
    for name in ("data", "other"):
        (folder / name).mkdir()
        (folder / name / "value.txt").write_text(name)


def _packages(folder: Path) -> None:
    for version in ("1.0", "2.0"):
        package = folder / version / "tinypackage"
        package.mkdir(parents=True)
        code = f"def prepare(row):\n    return 'as of {version}'\n"
        (package / "__init__.py").write_text(code)
        info = folder / version / f"tinypackage-{version}.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: tinypackage\nVersion: {version}\n"
        (info / "METADATA").write_text(text)


def may_mount() -> bool:
    """Whether a mount namespace of one's own is permitted here."""
    command = ["unshare", "-m", "mount", "--make-rprivate", "/"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


ROOTS = tuple(Run(("together",), {"DATA_ROOT": f"/data/{name}"}) for name in "ab")
BIND = 'mount --make-rprivate / && mount --bind other data && exec "$@"'

IDIOMS = (
    # What the job has set
    Idiom("module_state"),
    Idiom("environment", runs=tuple(Run((), run.variables) for run in ROOTS), slow=True),
    Idiom("environment_together", FORK, script="environment", runs=ROOTS, together=True),
    Idiom("argv_at_import", runs=(Run(("--size", "7")),)),
    # How the interpreter was started
    Idiom("dash_c", FORK, script="no_file", launch="-c"),
    Idiom("from_stdin", FORK, script="no_file", launch="stdin", slow=True),
    Idiom("dash_m", FORKSERVER_FIRST, script="package", launch="-m"),
    Idiom("no_guard", ("spawn", "forkserver"), runs=(Run(("zero",)),), slow=True),
    Idiom(
        "no_guard_absent",
        ("forkserver", "spawn"),
        script="no_guard",
        runs=(Run(("absent",)),),
    ),
    # Jobs of multiprocessing, ranks
    Idiom("torch_spawn", ("spawn",)),
    Idiom("ddp", slow=True),  # nine times torch; processes/test_ranks.py has DDP in `make test`
    Idiom("ddp_drop_last", FORK, script="ddp", runs=(Run(("drop_last",)),), slow=True),
    Idiom("processes"),
    Idiom("context", FORK, slow=True),  # client/reading/test_births.py has each start method
    # What the dataset is made of
    Idiom("caches", FORKSERVER_FIRST),
    Idiom("handles"),
    Idiom("local_code"),
    Idiom("local_samples", FORK),
    Idiom("stateful"),
    Idiom("memory_order", FORK),
    Idiom("samples", NO_SPAWN, slow=True),  # processes/test_torch_batches.py has each kind
    Idiom("one_buffer", FORK),
    Idiom("one_buffers", NO_SPAWN, script="one_buffer", runs=(Run(("all",)),), slow=True),
    Idiom("getitems", ("forkserver", "fork")),
    Idiom("iterable", NO_SPAWN),
    Idiom("bulk", FORKSERVER_FIRST),
    # Who changes it, and who must not notice
    Idiom("changes", NO_SPAWN),
    Idiom("neighbors", NO_SPAWN, runs=(Run(("changer",)), Run(("reader",))), together=True),
    Idiom("changed_in_loop", FORK),
    Idiom("changed_in_loops", script="changed_in_loop", runs=(Run(("all",)),), slow=True),
    Idiom(
        "relative_roots",
        NO_SPAWN,
        script="relative_root",
        runs=(Run(folder="a"), Run(folder="b")),
        together=True,
        prepare=_folders,
    ),
    Idiom(
        "mount_namespaces",
        script="absolute_path",
        runs=(
            Run(("data/value.txt",)),
            Run(("data/value.txt",), before=("unshare", "-m", "sh", "-c", BIND, "sh")),
        ),
        together=True,
        slow=True,  # recipe/test_place.py tells one mount namespace from another
        prepare=_mounts,
    ),
    Idiom(
        "package_versions",
        script="versions",
        runs=tuple(Run(variables={"PYTHONPATH": version}) for version in ("1.0", "2.0")),
        together=True,
        prepare=_packages,
    ),
    # Loops
    Idiom("repeat_sampler", NO_SPAWN),
    Idiom("iterators", NO_SPAWN),
    Idiom("daemon_lost"),
    Idiom("loops", NO_SPAWN),
    Idiom(
        "loops_optimized",  # processes/test_optimized.py has the short form
        FORK,
        script="loops",
        runs=(Run(variables={"PYTHONOPTIMIZE": "1"}),),
        slow=True,
    ),
    Idiom("orders", NO_SPAWN, slow=True),  # processes/test_torch_order.py has each order
    Idiom("manual_seed"),
    Idiom("random_loaders", FORK, runs=(Run(("0", "25")),)),
    Idiom(
        "random_loaders_together",
        FORK,
        script="random_loaders",
        runs=(Run(("25", "600")), Run(("25", "600"))),
        together=True,
        slow=True,
        timeout_s=900,
    ),
    # What is seen of workers
    Idiom("errors", NO_SPAWN),
    Idiom("exceptions", FORK),
    Idiom("printing", apart=True, any_order=True),
    Idiom("debugging", runs=(Run(("zero",), stdin="one\ntwo\np value\nc\n" * 2),)),
    Idiom(
        "debugging_absent",
        FORK,
        script="debugging",
        runs=(Run(("absent",), stdin="one\ntwo\np value\nc\n" * 2),),
    ),
    Idiom("worker_info"),
    # What the job does beside
    Idiom("forks"),
    Idiom("threads", NO_SPAWN),
    Idiom("interrupt"),
    # The object
    Idiom("copies", NO_SPAWN),
    Idiom("attributes", FORK),
    Idiom("replaced", FORK),
    Idiom("arguments", FORK),
)
