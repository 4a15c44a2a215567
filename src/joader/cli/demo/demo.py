"""`joader demo`: make pictures, train on them with torch's loader, then with joader, compare."""

import json
import os
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from joader.cli.console import Console, write
from joader.cli.demo.pictures import HEIGHT, WIDTH
from joader.cli.demo.processes import Processes, interrupted_by_signals
from joader.cli.demo.screen import counting, watching
from joader.cli.demo.side import JOADER_LINE, Plan, Side, new_side, run
from joader.cli.demo.table import as_figures, as_table
from joader.cli.files import check_writable, write_text
from joader.errors import MissingExtra, to_install


def demo(plan: Plan, json_path: str | None) -> int:
    """Run the demo; '-' as JSON file is standard output, and text then goes to standard error."""
    if json_path not in (None, "-"):
        check_writable(str(json_path))
    _check_installed()
    console = Console(stderr=json_path == "-")
    started = time.monotonic()
    cores = len(os.sched_getaffinity(0))
    with (
        interrupted_by_signals(),
        tempfile.TemporaryDirectory(prefix="joader-demo-", ignore_cleanup_errors=True) as name,
    ):
        folder = Path(name)
        _make_pictures(folder, plan, cores, console)
        _say_what_follows(plan, cores, console)
        sides = [new_side("torch", plan), new_side("joader", plan)]
        for side in sides:
            with watching(console, side, plan) as look:
                run(side, plan, folder, look)
    figures = {**as_figures(plan, cores, sides), "demo_s": round(time.monotonic() - started, 1)}
    console.print()
    console.print(as_table(*sides), highlight=False)
    _conclude(sides, console)
    if json_path is not None:
        text = json.dumps(figures, indent=1) + "\n"
        if json_path == "-":
            write(text, sys.stdout)
        else:
            write_text(json_path, text)
            console.print_plain(f"figures: {json_path}")
    return 0


def _check_installed() -> None:
    missing = [name for name in ("torch", "PIL") if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"the demo needs {' and '.join(missing)}: run `make demo` in a clone of joader, or "
            f"{to_install('torch', 'images')}"
        )


def _make_pictures(folder: Path, plan: Plan, cores: int, console: Console) -> None:
    """Make the pictures, on all cores."""
    (folder / "pictures").mkdir()
    command = ["-m", "joader.cli.demo.pictures", "pictures", str(plan.pictures)]
    processes = Processes(folder)
    title = f"Making {plan.pictures:,} JPEGs of {WIDTH} × {HEIGHT} pixels"
    try:
        with counting(console, title, plan.pictures) as count:
            parts = [
                processes.start(f"pictures-{part}", [*command, str(part), str(cores)])
                for part in range(cores)
            ]
            # In turn, since each process writes every n-th picture: none waits long on a full pipe.
            for number in range(plan.pictures):
                stream = parts[number % cores].stdout
                assert stream is not None
                if not stream.readline():
                    parts[number % cores].wait()
                    processes.check()
                count()
    finally:
        processes.close()


def _say_what_follows(plan: Plan, cores: int, console: Console) -> None:
    console.print(
        f"\n{plan.jobs} processes now train the same small network on them at once, each with its "
        f"own learning rate, {plan.epochs} epochs on {cores} cores without a GPU. First "
        f"with torch's loader ({_workers(plan.workers_per_job)} per job), then with joader: "
        "the same script, one line changed.",
        highlight=False,
    )


def _workers(count: int) -> str:
    return f"{count} worker process{'es' if count > 1 else ''}"


def _conclude(sides: list[Side], console: Console) -> None:
    torch, joader = sides
    console.print(
        f"\nEach epoch, torch's loaders decoded a picture {torch.prepared / torch.jobs[0].of:.2f} "
        f"times, joader {joader.prepared / joader.jobs[0].of:.2f} times. The network is tiny, so "
        "that loading is the bottleneck, as it is when a GPU waits for its data; if training is "
        "the bottleneck, joader saves CPU time, not hours.",
        highlight=False,
    )
    console.print(
        f"\nNext: write `{JOADER_LINE}` in your own script, start it several times, and look at "
        "`joader status`. README.md and docs/ say more; examples/ has scripts to start from.",
        highlight=False,
    )
