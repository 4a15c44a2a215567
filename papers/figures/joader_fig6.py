"""Figure 6 of the JOADER paper: five models of different speed at once.

Under lockstep everybody takes as long as ResNet152. The paper does not print the models' own
speeds: they are taken in proportion to their FLOPs, ResNet18's as fitted. Printed is that ResNet18
is 4 times as fast as under lockstep.
"""

from collections.abc import Iterator, Mapping

from papers.figure import Effort, Figure, Row
from papers.figures.joader_counts import prepared_parts, rows_of, scale
from papers.figures.titan_server import (
    Trainer,
    describe,
    fitted,
    lifetimes,
    mean_use,
    stretches,
)
from papers.runs import Tick

GIGA_FLOPS: Mapping[str, float] = {
    "ResNet18": 1.8,
    "ResNet34": 3.7,
    "ResNet50": 4.1,
    "ResNet101": 7.8,
    "ResNet152": 11.5,
}
PAPER = 4.0


def minutes(parts: tuple[float, ...], lockstep: bool = False) -> tuple[list[float], float]:
    """Return each job's minutes for an epoch, and the mean CPU use."""
    server = fitted()
    gpu = [server.gpu_min * flops / GIGA_FLOPS["ResNet18"] for flops in GIGA_FLOPS.values()]
    if lockstep:
        gpu = [max(gpu)] * len(gpu)
    jobs = [Trainer(own, server.cpu_min(part)) for own, part in zip(gpu, parts, strict=True)]
    found = list(stretches(server, jobs))
    return lifetimes(jobs, found), mean_use(found)


def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
    """Return how many times faster than under lockstep an epoch of each model is."""
    speeds = tuple(1 / flops for flops in GIGA_FLOPS.values())
    zeros = (0.0,) * len(speeds)
    lockstep, _ = minutes((1.0, *zeros[1:]), lockstep=True)
    alone, _ = minutes((1.0,) * len(speeds))
    tick()
    for case, sampler in (("order joint", "dependent"), ("order shared", "streams")):
        ours, _ = minutes(prepared_parts(sampler, speeds, zeros, 1.0, rows_of(effort), seed))
        for number, (model, flops) in enumerate(GIGA_FLOPS.items()):
            yield Row(
                case=case,
                x=flops,
                paper=PAPER if model == "ResNet18" else None,
                ours=lockstep[number] / ours[number],
                baseline=lockstep[number] / alone[number],
                unit="times as fast as lockstep",
            )
        tick()


FIGURE = Figure(
    name="joader-fig6",
    source="JOADER, figure 6",
    title="ResNet18, 34, 50, 101 and 152 at once",
    scale=scale,
    case_label="joader",
    x_label="GFLOPs of the model",
    y_label="times as fast as lockstep",
    ours="joader",
    baseline="PyTorch",
    varies="ours",
    rows=rows,
    steps=lambda effort: 3,
    notes=describe,
)
