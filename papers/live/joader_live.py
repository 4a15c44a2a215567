"""The JOADER paper's figures with real jobs, on the machine at hand, small.

Jobs decode pictures that are made for it, with a pace set so that one job takes a quarter of all
cores, as much as one ResNet18 takes of the paper's server; instead of training they wait. Each is
run with torch's loader and with joader and a daemon of its own. There is no loader in lockstep to
run: under one everybody takes as long as the slowest. The paper's values are scaled to one job with
torch's loader here, where they are times.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from statistics import fmean

from papers.every_figure import OF_THE_PAPERS
from papers.figure import Effort, Figure, Row, RowMaker
from papers.figures import joader_fig6, joader_fig7a, joader_fig7b
from papers.figures.titan_server import JOADER, PYTORCH
from papers.live.group import BATCH, Outcome, Paced, Place, cores, pictures_of, place, run
from papers.runs import Tick

ORDERS = ("shared", "joint")
QUICK_MODELS = ("ResNet18", "ResNet50", "ResNet101")
Runs = Callable[[str, Sequence[Paced]], Outcome]


def _full(effort: Effort) -> bool:
    return effort.size >= 10_000


def _numbers(effort: Effort) -> tuple[int, ...]:
    return (1, 2, 4, 6) if _full(effort) else (1, 3)


def _runs(here: Place, tick: Tick) -> Runs:
    """Return what runs jobs with a loader, and ticks."""
    numbers = count()

    def one(loader: str, jobs: Sequence[Paced]) -> Outcome:
        found = run(here, loader, jobs, next(numbers))
        tick()
        return found

    return one


def _live(name: str, rows: RowMaker, steps: Callable[[Effort], int], **changes: object) -> Figure:
    figure = OF_THE_PAPERS[name]
    return replace(
        figure,
        title=f"{figure.title}, live",
        scale=lambda effort: (
            f"measured here: {pictures_of(effort)} pictures, batches of {BATCH}, {cores()} cores"
        ),
        rows=rows,
        steps=steps,
        ours="joader, measured",
        baseline="torch's loader, measured",
        notes=lambda effort: (
            "real jobs that decode pictures and wait as a GPU would; one alone takes a quarter of "
            "all cores. Figures vary with what else the machine does.",
        ),
        **changes,  # type: ignore[arg-type]
    )


def _equal_jobs(
    value: Callable[[Outcome], float], paper: Callable[[int, float, float], float | None], unit: str
) -> RowMaker:
    """Return the rows of equal jobs, 1 to 6, by order."""

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        with place(pictures_of(effort)) as here:
            runs = _runs(here, tick)
            jobs = {number: [Paced(0, here.pictures)] * number for number in _numbers(effort)}
            torch = {number: value(runs("torch", those)) for number, those in jobs.items()}
            for order in ORDERS:
                for number, those in jobs.items():
                    yield Row(
                        case=f"order {order}",
                        x=number,
                        paper=paper(number, torch[1], torch[number]),
                        ours=value(runs(order, those)),
                        baseline=torch[number],
                        unit=unit,
                    )

    return rows


def table1() -> Figure:
    """Return Table 1: seconds of a pass of equal jobs."""
    rows = _equal_jobs(
        lambda found: fmean(found.seconds),
        lambda jobs, one, torch: one * JOADER[jobs - 1] / PYTORCH[0],
        "seconds per pass",
    )
    return _live(
        "joader-table1",
        rows,
        lambda effort: (1 + len(ORDERS)) * len(_numbers(effort)),
        y_label="seconds per pass",
        paper_label="paper, scaled",
        case_label="joader",
        varies="ours",
    )


def fig5() -> Figure:
    """Return Figure 5: processor seconds of a pass of equal jobs, per job."""
    rows = _equal_jobs(
        lambda found: found.cpu_s / len(found.seconds),
        lambda jobs, one, torch: 0.6 * torch if jobs == 6 else None,
        "CPU seconds per job and pass",
    )
    return _live(
        "joader-fig5",
        rows,
        lambda effort: (1 + len(ORDERS)) * len(_numbers(effort)),
        y_label="CPU seconds per job and pass",
        case_label="joader",
        varies="ours",
    )


def fig6() -> Figure:
    """Return Figure 6: models of different speed at once."""

    def models(effort: Effort) -> dict[str, float]:
        flops = joader_fig6.GIGA_FLOPS
        return dict(flops) if _full(effort) else {name: flops[name] for name in QUICK_MODELS}

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        flops = models(effort)
        first = min(flops.values())
        with place(pictures_of(effort)) as here:
            runs = _runs(here, tick)
            jobs = [Paced(0, here.pictures, each / first) for each in flops.values()]
            torch = runs("torch", jobs).seconds
            for order in ORDERS:
                ours = runs(order, jobs).seconds
                lockstep = max(ours)  # everybody takes as long as the slowest
                for number, (model, each) in enumerate(flops.items()):
                    yield Row(
                        case=f"order {order}",
                        x=each,
                        paper=joader_fig6.PAPER if _full(effort) and model == "ResNet18" else None,
                        ours=lockstep / ours[number],
                        baseline=lockstep / torch[number],
                        unit="times as fast as lockstep",
                    )

    return _live("joader-fig6", rows, lambda effort: 1 + len(ORDERS))


def fig7a() -> Figure:
    """Return Figure 7a: four jobs that arrive one after the other."""

    def apart(effort: Effort) -> tuple[float, ...]:
        return joader_fig7a.APART if _full(effort) else (0.25,)

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        found: dict[tuple[str, float], tuple[Outcome, Outcome]] = {}
        with place(pictures_of(effort)) as here:
            runs = _runs(here, tick)
            for each in apart(effort):
                jobs = [
                    Paced(0, here.pictures, start=number * each, epochs=joader_fig7a.EPOCHS)
                    for number in range(joader_fig7a.JOBS)
                ]
                torch = runs("torch", jobs)
                for order in ORDERS:
                    found[order, each] = runs(order, jobs), torch
        for what, value in (("time", lambda one: fmean(one.seconds)), ("CPU", lambda o: o.cpu_s)):
            for order in ORDERS:
                for each in apart(effort):
                    ours, torch = found[order, each]
                    yield Row(
                        case=f"{what}: order {order}",
                        x=100 * each,
                        paper=joader_fig7a.PAPER[what],
                        ours=100 * value(ours) / value(torch),
                        baseline=100.0,
                        unit=f"{what}, % of PyTorch's",
                    )

    return _live("joader-fig7a", rows, lambda effort: (1 + len(ORDERS)) * len(apart(effort)))


def fig7b() -> Figure:
    """Return Figure 7b: two jobs that have rows in common."""

    def overlaps(effort: Effort) -> tuple[float, ...]:
        return joader_fig7b.OVERLAPS if _full(effort) else (0.0, 0.5, 1.0)

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        size = pictures_of(effort)
        with place(2 * size) as here:
            runs = _runs(replace(here, pictures=size), tick)
            ours, torch = {}, {}
            for overlap in overlaps(effort):
                shift = round(size * (1 - overlap))
                jobs = [Paced(0, size), Paced(shift, shift + size)]
                ours[overlap] = runs("joint", jobs).cpu_s
                torch[overlap] = runs("torch", jobs).cpu_s
            for overlap, cpu_s in ours.items():
                yield Row(
                    case="torch's loader",
                    x=100 * overlap,
                    paper=joader_fig7b.PAPER.get(overlap),
                    ours=100 * cpu_s / ours[0.0],
                    baseline=100 * torch[overlap] / torch[0.0],
                    unit="% of disjoint datasets",
                )

    return _live("joader-fig7b", rows, lambda effort: 2 * len(overlaps(effort)))


def figures() -> tuple[Figure, ...]:
    """Return all of them."""
    return table1(), fig5(), fig6(), fig7a(), fig7b()
