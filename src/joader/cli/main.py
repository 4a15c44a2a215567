"""The `joader` command: arguments in, a subcommand run, errors as one line and an exit code.

Exit codes: 0 done; 1 an error of ours or of the machine; 2 wrong arguments; 130 interrupted.

`joader completion SHELL`: what a shell needs to complete commands and options.

Made from the parser, so it never lacks a command; one function that all three shells call.

An example for the help of each command, and what its exit codes mean.
"""

import argparse
import errno
import os
import sys
from collections.abc import Sequence

from joader import __version__
from joader.cli.arguments import Parser, add_json, count, seconds, seed
from joader.cli.console import drop, write
from joader.cli.letters import adapt
from joader.cli.papers import add_papers
from joader.cli.screens import add_screens
from joader.errors import JoaderError, UserError

EXAMPLES = {
    "up": "joader up -d --memory 16GiB",
    "down": "joader down",
    "status": "joader status --json | jq .totals",
    "top": "joader top\n  joader top --once",
    "jobs": "joader jobs\n  joader jobs train.py --json\n  joader jobs train.py --weight 2",
    "policy": "joader policy\n  joader policy throughput",
    "simulate": "joader simulate --random 8",
    "profile": "joader profile --quick\n  joader profile train.py --only loading --plot rows.svg",
    "dashboard": "joader dashboard\n  joader dashboard --save run.html",
    "doctor": "joader doctor || echo 'not ready'",
    "bench": "joader bench --seconds 5 train.py --epochs 1\n  joader bench data/train.parquet",
    "explain": "joader explain 1 2",
    "datasets": "joader datasets create flowers data/flowers\n  joader datasets show flowers",
    "reproduce": "joader reproduce joader-fig4a --quick --plot fig4a.png",
    "demo": "joader demo --jobs 2",
    "completion": 'eval "$(joader completion bash)"',
}
_CODES = (
    "exit codes: 0 done, 1 an error of joader or the machine, 2 wrong arguments, 130 interrupted"
)


def add_examples(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Put them below the help of all commands."""
    for name, command in commands.choices.items():
        example = EXAMPLES.get(name)
        shown = f"example:\n  {example}\n\n" if example else ""
        command.epilog = f"{shown}{_CODES}"
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        if command.description is None:
            command.description = _help_of(commands, name)


def _help_of(commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str) -> str:
    words = next(one.help for one in commands._choices_actions if one.dest == name) or ""
    return words[:1].upper() + words[1:] + "."


SHELLS = ("bash", "zsh", "fish")

_BASH = """_joader() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$word")); return
  fi
  case "$command" in
{cases}
  esac
  if [[ "$word" != -* && ${{#COMPREPLY[@]}} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _joader joader
"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + _BASH


def completion(shell: str, parser: argparse.ArgumentParser) -> int:
    """Print it."""
    words = words_of(parser)
    write(_fish(words) if shell == "fish" else _like_bash(shell, words), sys.stdout)
    return 0


def words_of(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return the options and actions of each command."""
    found = {}
    for name, command in _commands(parser).items():
        options = [option for action in command._actions for option in action.option_strings]
        found[name] = [*_commands(command), *sorted(set(options) - {"-h"})]
    return found


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _like_bash(shell: str, words: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(options)}" -- "$word"));;'
        for name, options in words.items()
    )
    text = _ZSH if shell == "zsh" else _BASH
    return text.format(commands=" ".join(words), cases=cases)


def _fish(words: dict[str, list[str]]) -> str:
    lines = ["complete -c joader -n __fish_use_subcommand -f -a '" + " ".join(words) + "'"]
    for name, options in words.items():
        for option in options:
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-a {option}"
            if option.startswith("-") and not option.startswith("--"):
                kind = f"-s {option[1:]}"
            lines.append(f"complete -c joader -n '__fish_seen_subcommand_from {name}' {kind}")
    return "\n".join(lines) + "\n"


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        adapt(stream)
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()  # here: at Python's exit a reader that went away is an error
    except BrokenPipeError:
        drop(sys.stdout)
        return 0
    except OSError as error:
        # Files that commands write are named in their errors; what is left is the output.
        if error.errno not in _FULL or error.filename is not None:
            raise
        drop(sys.stdout)
        write(f"joader: cannot write the output: {error.strerror}\n", sys.stderr)
        return 1


def _open_what_is_closed() -> None:
    """Write to nowhere in place of what the shell has closed (`>&-`), before a socket is there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _run(arguments: Sequence[str] | None) -> int:
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except JoaderError as error:
        write(f"joader: {error}\n", sys.stderr)
        return 2 if isinstance(error, UserError) else 1
    except KeyboardInterrupt:
        write("joader: interrupted\n", sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    top: argparse.ArgumentParser = Parser(
        prog="joader",
        description="Shared data preparation for deep-learning training.",
        epilog="`joader COMMAND --help` shows an example of each.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=14),
    )
    top.add_argument("--version", action="version", version=f"joader {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _add_node(commands)
    _add_schedule(commands)
    add_screens(commands)
    _add_datasets(commands)
    _add_simulate(commands)
    add_papers(commands)
    _add_demo(commands)
    _add_completion(commands)
    add_examples(commands)
    return top


def _add_node(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    up = commands.add_parser("up", help="start the daemon (the first job also starts it)")
    up.add_argument("-d", "--detach", action="store_true", help="run it in the background")
    up.add_argument("--memory", metavar="SIZE", help="for prepared samples, for example 8GiB")
    up.add_argument(
        "--workers",
        type=count,
        metavar="N",
        help="processes that prepare at the same time (default: one per core)",
    )
    up.add_argument("--cpu", metavar="PART", help="the most of the cores to use, for example 80%%")
    up.add_argument("--policy", metavar="NAME", help="who gets how much (default: fair)")
    up.add_argument(
        "--log-format", choices=("text", "json"), help="of the daemon's log (default: text)"
    )
    up.add_argument(
        "--cluster",
        metavar="HOST:PORT",
        help="share with other machines; where the first of them listens, or auto",
    )
    up.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="auto",
        help="have a daemon on every node of a Ray cluster (default: the one that runs here)",
    )
    up.add_argument("--no-dashboard", action="store_true", help="serve no page about it")
    up.add_argument(
        "--wait",
        type=seconds,
        metavar="SECONDS",
        nargs="?",
        const=60.0,
        help="start none: wait until this machine's daemon is ready (at most 60 s)",
    )
    up.add_argument(
        "--nodes", type=count, default=0, metavar="N", help="--wait for so many nodes, too"
    )
    up.set_defaults(run=_up)
    down = commands.add_parser("down", help="stop the daemon")
    down.add_argument("--force", action="store_true", help="even if jobs are reading")
    down.set_defaults(run=_down)
    status = commands.add_parser("status", help="what runs, and how much is shared")
    status.add_argument("--ended", action="store_true", help="the jobs that ended within a day")
    status.add_argument("--json", action="store_true", help="as JSON")
    status.set_defaults(run=_status)
    explain = commands.add_parser("explain", help="what two jobs share, or why they do not")
    explain.add_argument("jobs", nargs=2, metavar="JOB", help="number, process or name of a job")
    explain.add_argument("--json", action="store_true", help="as JSON")
    explain.set_defaults(run=_explain)


def _add_schedule(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    policy = commands.add_parser(
        "policy", help="who gets how much of the workers' time, and why; change it"
    )
    policy.add_argument("name", nargs="?", metavar="NAME", help="of another policy")
    policy.add_argument("--json", action="store_true", help="as JSON")
    policy.set_defaults(run=_policy)


def _add_datasets(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    datasets = commands.add_parser("datasets", help="named tables: list, show, create, drop")
    datasets.add_argument("--json", action="store_true", help="list all tables as JSON")
    datasets.set_defaults(run=_datasets, action="list")
    actions = datasets.add_subparsers(metavar="ACTION")
    for name, words in (
        ("list", "all tables"),
        ("show", "rows, columns, size, versions, and who uses it"),
        ("create", "index the data at a path or URL"),
        ("refresh", "look for new, changed and missing files"),
        ("drop", "remove a table; its data stays"),
    ):
        action = actions.add_parser(name, help=words)
        action.set_defaults(run=_datasets, action=name)
        if name != "list":
            action.add_argument("name", metavar="NAME")
        if name != "drop":
            # Without a default, which would undo the --json of `joader datasets --json list`.
            action.add_argument(
                "--json", action="store_true", default=argparse.SUPPRESS, help="as JSON"
            )
        if name == "create":
            action.add_argument("place", metavar="PLACE", help="a path, pattern or URL")
            action.add_argument("--kind", help="of storage, if it cannot be detected")
            action.add_argument(
                "--index",
                type=lambda text: text.split(","),
                metavar="COLUMN,...",
                help="columns to select rows by (default: numbers and short strings)",
            )
            action.add_argument("--sizes", action="store_true", help="keep width and height, too")
            action.add_argument("--exist-ok", action="store_true", help="refresh it if it exists")


def _add_simulate(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "simulate",
        help="who would get what when, on a machine that you describe",
        description="Play a workload on a virtual clock, with the daemon's own code. docs/"
        "scheduling.md says how a workload is written.",
    )
    command.add_argument("workload", nargs="?", metavar="WORKLOAD", help="a TOML file")
    command.add_argument(
        "--random", type=count, nargs="?", const=8, metavar="N", help="draw N jobs (default 8)"
    )
    command.add_argument(
        "--policy", action="append", default=[], metavar="NAME", help="may be given several times"
    )
    command.add_argument("--seed", type=seed, default=0, help="default 0")
    add_json(command)
    command.add_argument(
        "--plot", metavar="FILE", action="append", default=[], help="draw a timeline; .png or .svg"
    )
    command.set_defaults(run=_simulate)


def _add_demo(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "demo",
        help="train in four processes, with torch's loader and with joader's, and compare",
        description="Make pictures and train on them in several processes at once, first with "
        "torch's loader, then with joader. It takes about a minute on two cores.",
    )
    command.add_argument("--pictures", type=count, default=1000, metavar="N", help="default 1000")
    command.add_argument("--jobs", type=count, default=4, metavar="N", help="default 4")
    command.add_argument("--epochs", type=count, default=2, metavar="N", help="default 2")
    add_json(command)
    command.set_defaults(run=_demo)


def _add_completion(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser("completion", help="complete commands in your shell")
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
    command.set_defaults(run=_completion)


def _up(options: argparse.Namespace) -> int:
    if options.wait is not None or options.nodes:
        from joader.cli.up import wait_until_ready

        return wait_until_ready(60.0 if options.wait is None else options.wait, options.nodes)
    from joader.cli.up import Up, up

    return up(
        Up(
            memory=options.memory,
            workers=options.workers,
            log_format=options.log_format,
            cpu=options.cpu,
            policy=options.policy,
            detach=options.detach,
            dashboard=not options.no_dashboard,
            cluster=options.cluster,
            ray=options.ray,
        )
    )


def _down(options: argparse.Namespace) -> int:
    from joader.cli.node import down

    return down(options.force)


def _status(options: argparse.Namespace) -> int:
    if options.ended:
        from joader.cli.ended import ended

        return ended(options.json)
    from joader.cli.node import status

    return status(options.json)


def _policy(options: argparse.Namespace) -> int:
    from joader.cli.schedule import policy

    return policy(options.name, options.json)


def _explain(options: argparse.Namespace) -> int:
    from joader.cli.explain import explain

    first, second = options.jobs
    return explain(first, second, options.json)


def _datasets(options: argparse.Namespace) -> int:
    from joader.cli import datasets

    if options.action == "list":
        return datasets.list_tables(options.json)
    if options.action == "show":
        return datasets.show(options.name, options.json)
    if options.action == "drop":
        return datasets.drop(options.name)
    if options.action == "refresh":
        return datasets.refresh(options.name, options.json)
    return datasets.create(
        options.name,
        options.place,
        kind=options.kind,
        index=options.index,
        sizes=options.sizes,
        exist_ok=options.exist_ok,
        as_json=options.json,
    )


def _simulate(options: argparse.Namespace) -> int:
    from joader.cli.simulate import simulate

    return simulate(
        options.workload,
        options.random,
        options.policy,
        seed=options.seed,
        json_path=options.json,
        plots=options.plot,
    )


def _demo(options: argparse.Namespace) -> int:
    from joader.cli.demo.demo import demo
    from joader.cli.demo.side import Plan

    return demo(Plan(options.pictures, options.jobs, options.epochs), options.json)


def _completion(options: argparse.Namespace) -> int:
    from joader.cli.main import completion

    return completion(options.shell, parser())


if __name__ == "__main__":
    sys.exit(main())
