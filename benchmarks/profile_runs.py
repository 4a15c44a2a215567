"""Writes the runs behind `joader reproduce adloader-table1` and `adloader-fig5` anew.

    joader profile --collect runs.json
    python benchmarks/profile_runs.py runs.json

Of the training runs those of A-Dloader's own networks are taken. Two files may be given, one with
training runs and one with loading runs.
"""

import sys
from pathlib import Path

from papers.profile.architectures import of_the_paper
from papers.profile.samples import Samples, read_samples

TARGET = Path(__file__).parents[1] / "papers/figures/adloader_runs.py"

TEXT = '''"""Runs that `joader profile --collect` measured, for the figures of A-Dloader's models.

Written by benchmarks/profile_runs.py. Trained on: {trained}.
Rows: {recipe}, decoded and resized, on: {loaded}.
"""

from papers.models.runs import Architecture, LoadingRun, Operation, TrainingRun

TRAINED_ON = "{device}"
PROCESSORS = {processors}

# Parameters, and flops per sample, forward and backward.
_SIZES = {{
{sizes}
}}
ARCHITECTURES = {{
    name: Architecture(name, parameters, (Operation(1, flops, 0.0, 0.0),))
    for name, (parameters, flops) in _SIZES.items()
}}

# Milliseconds per step, by batch.
_STEPS_MS = {{
{steps}
}}
TRAINING = [
    TrainingRun(name, batch, step_ms / 1000)
    for name, steps in _STEPS_MS.items()
    for batch, step_ms in steps.items()
]

# Workers, rows per second, milliseconds per row: waiting, the rest, and processor time.
_ROWS = (
{rows}
)
LOADING = [
    LoadingRun("pictures", {size:_}, workers, rate, read / 1000, rest / 1000, computed / 1000)
    for workers, rate, read, rest, computed in _ROWS
]
'''


def in_words(samples: Samples) -> str:
    return ",\n".join(f"{name} {value}" for name, value in samples.machine.items())


def main() -> None:
    found = [read_samples(path) for path in sys.argv[1:]]
    training = next(one for one in found if one.training)
    loading = next(one for one in found if one.loading)
    runs = [run for run in training.training if of_the_paper(run.architecture)]
    names = list(dict.fromkeys(run.architecture for run in runs))
    known = {one.name: one for one in training.architectures}
    steps = []
    for name in names:
        its = [f"{r.batch}: {1000 * r.step_s:.4g}" for r in runs if r.architecture == name]
        steps.append(f'    "{name}": {{{", ".join(its)}}},')
    rows = [
        f"    ({run.workers}, {run.rows_per_s:.1f}, {1000 * run.read_s:.4f}, "
        f"{1000 * run.prepare_s:.3f}, {1000 * run.computed_s:.3f}),"
        for run in loading.loading
    ]
    sizes = [f'    "{n}": ({known[n].parameters:_}, {known[n].flops:.4g}),' for n in names]
    TARGET.write_text(
        TEXT.format(
            trained=in_words(training),
            loaded=in_words(loading),
            recipe=loading.loading[0].recipe,
            device=training.machine.get("trained on", training.device),
            processors=int(loading.machine["processors"]),
            sizes="\n".join(sizes),
            steps="\n".join(steps),
            rows="\n".join(rows),
            size=loading.loading[0].sample_bytes,
        )
    )


if __name__ == "__main__":
    main()
