"""The parser of `joader profile`; it loads its code when it is called."""

import argparse

from joader.cli.arguments import seconds

_ONLY = ("training", "loading")


def add_profile(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add it to the command line."""
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


def _profile(options: argparse.Namespace) -> int:
    from joader.cli.profile.collecting import Plan
    from joader.cli.profile.profile import profile

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
