"""The door to `papers/`: the parsers of `joader reproduce` and `joader profile`.

What they run lies beside `src` in a clone, and in no wheel; it is loaded when it is called.
"""

import argparse
from importlib.util import find_spec

from joader.cli.arguments import add_json, seconds, seed
from joader.errors import BadArgument, MissingExtra

_ONLY = ("training", "loading")


def add_papers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add both to the command line."""
    _add_reproduce(commands)
    _add_profile(commands)


def _add_reproduce(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "reproduce",
        help="rerun a figure of the papers with joader's own code",
        description="Rerun a figure of the papers with joader's own code.",
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="which figure; see --list")
    command.add_argument("--list", action="store_true", help="name the figures")
    command.add_argument("--all", action="store_true", help="all figures of the papers")
    command.add_argument("--quick", action="store_true", help="smaller sets, one seed: seconds")
    command.add_argument("--seed", type=seed, default=0, help="first seed (default 0)")
    command.add_argument(
        "--live", action="store_true", help="measure it here, with real jobs, if it has such a form"
    )
    command.add_argument("--data", metavar="FOLDER", help="CIFAR-10, for figures of accuracy")
    command.add_argument(
        "--from", dest="kept", metavar="FILE", help="draw what --json has kept, run nothing"
    )
    add_json(command)
    command.add_argument(
        "--plot",
        metavar="FILE",
        action="append",
        default=[],
        help="draw the figure; .png or .svg; may be given twice",
    )
    command.set_defaults(run=_reproduce)


def _add_profile(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "profile",
        help="measure this machine, and fit models of how fast it trains and loads",
        description="Train small networks for moments and read rows with 1, 2, … workers; then fit "
        "A-Dloader's models, and print how far they are from runs that they have not seen. A "
        "dataset is a path or the name of a table; of a script, the first dataset that it iterates "
        "over is taken, and its recipe is known to daemons from then on. Without either, pictures "
        "are made. It takes two to five minutes.",
    )
    command.add_argument("what", nargs="?", metavar="DATASET_OR_SCRIPT", help="whose rows are read")
    command.add_argument("arguments", nargs="*", help="of the script, after --")
    command.add_argument("--quick", action="store_true", help="few runs: half a minute")
    command.add_argument("--only", choices=_ONLY, help="of the two kinds of runs")
    command.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    command.add_argument(
        "--architectures", type=_names, default=[], metavar="NAME,...", help="to train"
    )
    command.add_argument(
        "--batches", type=_counts, default=[], metavar="N,...", help="batch sizes to train with"
    )
    command.add_argument(
        "--workers", type=_counts, default=[], metavar="N,...", help="numbers to read with"
    )
    command.add_argument("--seconds", type=seconds, default=0.0, help="per run")
    command.add_argument("--collect", metavar="FILE", help="measure only, and keep the runs")
    command.add_argument(
        "--fit",
        metavar="FILE",
        nargs="?",
        const="",
        help="fit only, to runs that were kept (without FILE: the last of this machine)",
    )
    command.add_argument(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help="write the figures (without FILE: to standard output)",
    )
    command.add_argument(
        "--plot",
        metavar="FILE",
        action="append",
        default=[],
        help="draw rows/s against workers; .png or .svg",
    )
    command.set_defaults(run=_profile)


def _check_here() -> None:
    """Raise if `papers` is not importable; an editable install of a clone makes it so."""
    try:
        here = find_spec("papers.every_figure") is not None
    except ModuleNotFoundError:
        here = False
    if not here:
        raise MissingExtra(
            "the figures of the papers are not part of the installed package: clone joader's "
            "repository, run `make setup` there, and then `.venv/bin/joader reproduce`"
        )


def _reproduce(options: argparse.Namespace) -> int:
    _check_here()
    from papers.figure import FULL, QUICK
    from papers.reproduce import Choice, list_figures, reproduce, reproduce_all
    from papers.run import Outputs

    effort = QUICK if options.quick else FULL
    if options.all:
        if options.name or options.json or options.plot or options.kept or options.live:
            raise BadArgument("--all only prints; to keep or draw a figure, give its NAME alone")
        return reproduce_all(options.seed, effort, options.data)
    if options.list or options.name is None:
        return list_figures()
    choice = Choice(options.name, options.live, options.data, options.kept)
    return reproduce(choice, options.seed, effort, Outputs(options.json, options.plot))


def _profile(options: argparse.Namespace) -> int:
    _check_here()
    from papers.profile.collecting import Plan
    from papers.profile.profile import profile

    plan = Plan(
        what=options.what,
        arguments=options.arguments,
        device=options.device,
        architectures=options.architectures,
        batches=options.batches,
        workers=options.workers,
        seconds=options.seconds,
        training=options.only != "loading",
        loading=options.only != "training",
        quick=options.quick,
    )
    return profile(
        plan,
        collect_to=options.collect,
        fit_from=options.fit,
        json_path=options.json,
        plots=options.plot,
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _counts(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) >= 1 for word in words):
        raise argparse.ArgumentTypeError(
            f"{text!r} are not counts; use integers of at least 1, for example 16,32,64"
        )
    return sorted({int(word) for word in words})
