"""A workload at random, as A-Dloader's generator draws one (its Section IV-A).

Jobs arrive one after the other, with exponential pauses; each trains a model out of a family of
seven sizes, at one of four batch sizes, for one pass. What a model takes per sample is in the
ratios of ResNets and VGGs and their narrow versions; rows are as ImageNet's, read and decoded at
what was measured here: 8 ms of a processor. Some jobs read the same data.
"""

import random

from joader.errors import BadArgument
from joader.simulator.machine.workload import JobSpec, MachineSpec, Storage, Workload

# Milliseconds of a GPU per sample.
MODELS = {
    "smResnet20": 0.5,
    "smVGG7": 0.6,
    "mdResnet12": 0.9,
    "Resnet18": 2.0,
    "Resnet34": 3.4,
    "VGG13": 4.5,
    "VGG16": 5.6,
}
BATCHES = (32, 64, 128, 256)
DATASETS = ("imagenet", "imagenet", "places", "food", "cars")
ROWS = 20_000
_PAUSE_S = 10.0
_MOST_JOBS = 64


def drawn(seed: int, jobs: int = 8, machine: MachineSpec | None = None) -> Workload:
    """Return the workload of this seed."""
    if not 1 <= jobs <= _MOST_JOBS:
        raise BadArgument(f"{jobs} jobs; draw from 1 to {_MOST_JOBS}")
    draw = random.Random(seed)
    usual = machine or MachineSpec(cores=8, memory="512MiB")
    specs = []
    arrival_s = 0.0
    for number in range(jobs):
        model = draw.choice(list(MODELS))
        batch = draw.choice(BATCHES)
        specs.append(
            JobSpec(
                name=f"{number + 1} {model}",
                dataset=draw.choice(DATASETS),
                rows=ROWS,
                row_ms=8.0,
                row_kb=110.0,
                sample_kb=196.0,
                storage="ssd",
                batch=batch,
                step_ms=MODELS[model] * batch,
                arrival_s=round(arrival_s, 3),
                workers=usual.cores,
            )
        )
        arrival_s += draw.expovariate(1 / _PAUSE_S)
    return Workload(tuple(specs), usual, {"ssd": Storage(latency_ms=0.1, mb_per_s=2000.0)})
