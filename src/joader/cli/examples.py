"""An example for the help of each command, and what its exit codes mean."""

import argparse

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
