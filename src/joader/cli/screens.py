"""The parsers of commands that show what runs; each loads its code when it is called."""

import argparse
from typing import TypeAlias

from joader.cli.arguments import Parser, port, seconds

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_screens(commands: Commands) -> None:
    """Add them to the command line."""
    _add_top(commands)
    _add_dashboard(commands)
    _add_jobs(commands)
    _add_doctor(commands)
    _add_bench(commands)


def _add_top(commands: Commands) -> None:
    top = commands.add_parser(
        "top",
        help="what runs, live: who shares with whom, and what that saves",
        description="Show what runs, live. Keys: q quits, up and down select a job, Enter shows "
        "all about it, s sorts by another figure, r turns the order around.",
    )
    top.add_argument("--once", action="store_true", help="print it once, for scripts")
    top.add_argument("--json", action="store_true", help="print its figures once, as JSON")
    top.set_defaults(run=_top)


def _add_dashboard(commands: Commands) -> None:
    command = commands.add_parser(
        "dashboard",
        help="the same in a browser, with history; metrics for Prometheus",
        description="Open a page that shows what runs and what ran, live. It is served on this "
        "machine only, by a process that ends when nobody looks, and its address contains a token.",
    )
    command.add_argument("--port", type=port, default=0, help="to listen at (default: any)")
    command.add_argument("--no-browser", action="store_true", help="print its address only")
    command.add_argument(
        "--save", metavar="FILE", help="write what it shows to one .html or .json file instead"
    )
    command.add_argument("--json", action="store_true", help="print its address as JSON")
    command.set_defaults(run=_dashboard)


def _add_jobs(commands: Commands) -> None:
    jobs = commands.add_parser("jobs", help="all jobs that read now, or all about one of them")
    jobs.add_argument("job", nargs="?", metavar="JOB", help="number, process or name of a job")
    jobs.add_argument("--weight", metavar="W", help="let it count as much beside others")
    jobs.add_argument("--json", action="store_true", help="as JSON")
    jobs.set_defaults(run=_jobs)


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="is this machine ready, and if not, what to do",
        description="Check memory, cgroup, cores, limits, the kernel, the runtime folder, versions "
        "and leftovers. The exit code is 1 if something is wrong.",
    )
    doctor.add_argument("--json", action="store_true", help="as JSON")
    doctor.set_defaults(run=_doctor)


def _add_bench(commands: Commands) -> None:
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument("--seconds", type=seconds, default=4.0, help="measured per way (default 4)")
    own.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="PATH",
        help="a script's data: it is then read from disk, not from the page cache",
    )
    own.add_argument("--json", action="store_true", help="as JSON")
    bench = commands.add_parser(
        "bench",
        parents=[own],
        help="is data the bottleneck, and what would joader give here",
        description="Run a training script for some seconds in each of four ways: as it is, with "
        "rows that are in memory already, with one batch again and again, and with joader's "
        "loader. The differences are the time that it waits for data. All loaders of an epoch "
        "are measured (three at most). A dataset (a path, or the name of a table) is read "
        "without a training step. Measuring takes 20 s for one loader and up to 40 s for three; "
        "to this comes the start of the script, twice, and what a busy machine is slower.",
    )
    bench.add_argument("what", metavar="DATASET_OR_SCRIPT")
    its = bench.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    its.required = False  # Python 3.11 names it with what is missing
    bench.set_defaults(run=_bench, own=own)


def _bench(options: argparse.Namespace) -> int:
    from joader.cli.bench.bench import bench

    if options.arguments and not options.what.endswith(".py"):
        # They are not a script's, so they are ours: a dataset may be named before them, too.
        ours = Parser(prog="joader bench", parents=[options.own])
        ours.parse_args(options.arguments, options)
        options.arguments = []
    return bench(options.what, options.arguments, options.seconds, options.data, options.json)


def _jobs(options: argparse.Namespace) -> int:
    from joader.cli.jobs import jobs

    return jobs(options.job, options.weight, options.json)


def _doctor(options: argparse.Namespace) -> int:
    from joader.cli.doctor.doctor import doctor

    return doctor(options.json)


def _top(options: argparse.Namespace) -> int:
    if options.json:
        from joader.cli.node import status

        return status(as_json=True)
    from joader.cli.top.top import top

    return top(options.once)


def _dashboard(options: argparse.Namespace) -> int:
    from joader.cli import dashboard

    if options.save:
        return dashboard.save(options.save)
    return dashboard.dashboard(options.port, not options.no_browser, options.json)
