"""The parsers of commands that show what runs; each loads its code when it is called."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_screens(commands: Commands) -> None:
    """Add them to the command line."""
    _add_top(commands)
    _add_dashboard(commands)
    _add_jobs(commands)
    _add_doctor(commands)


def _add_top(commands: Commands) -> None:
    top = commands.add_parser(
        "top",
        help="what runs, live: who shares with whom, and what that saves",
        description="Show what runs, live. Keys: q quits, up and down select a job, Enter shows "
        "all about it, s sorts by another figure, r turns the order around.",
    )
    top.add_argument("--once", action="store_true", help="print it once, for scripts")
    top.set_defaults(run=_top)


def _add_dashboard(commands: Commands) -> None:
    command = commands.add_parser(
        "dashboard",
        help="the same in a browser, with history; metrics for Prometheus",
        description="Open a page that shows what runs and what ran, live. It is served on this "
        "machine only, by a process that ends when nobody looks, and its address contains a token.",
    )
    command.add_argument("--port", type=int, default=0, help="to listen at (default: any)")
    command.add_argument("--no-browser", action="store_true", help="print its address only")
    command.add_argument(
        "--save", metavar="FILE", help="write what it shows to one .html or .json file instead"
    )
    command.add_argument("--json", action="store_true", help="print its address as JSON")
    command.set_defaults(run=_dashboard)


def _add_jobs(commands: Commands) -> None:
    jobs = commands.add_parser("jobs", help="all jobs that read now, or all about one of them")
    jobs.add_argument("job", nargs="?", metavar="JOB", help="number, process or name of a job")
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


def _jobs(options: argparse.Namespace) -> int:
    from joader.cli.jobs import jobs

    return jobs(options.job, options.json)


def _doctor(options: argparse.Namespace) -> int:
    from joader.cli.doctor.doctor import doctor

    return doctor(options.json)


def _top(options: argparse.Namespace) -> int:
    from joader.cli.top.top import top

    return top(options.once)


def _dashboard(options: argparse.Namespace) -> int:
    from joader.cli import dashboard

    if options.save:
        return dashboard.save(options.save)
    return dashboard.dashboard(options.port, not options.no_browser, options.json)
