"""Figure 6 of the Lobster paper and Figure 7 of the locality paper: threads, on this machine.

`lobster-threads`: pictures per second that so many threads decode and resize, with Pillow and with
joader's native steps. Printed is that 6 threads are the peak of the paper's node.
`locality-threads`: pictures per second of one learner, with so many worker processes and threads in
each, as the paper changes torch's loader; joader has the processes alone. Printed is that 800
pictures per second are the most there, and that threads make few workers faster.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from joader.cli.demo.pictures import write_pictures
from joader.cli.demo.processes import Processes, interrupted_by_signals
from joader.errors import WorldError
from joader.images import Decode, Resize, Steps
from papers.figure import Effort, Figure, Row
from papers.live.group import cores
from papers.runs import Tick

PEAK = 6  # threads, in the paper
SIDE = 224
DISTINCT = 24  # pictures; they are read again and again, from the page cache
SLACK = 0.02  # what the smallest number that is enough may give less than the most


@contextmanager
def _folder(pictures: int) -> Iterator[Path]:
    with (
        interrupted_by_signals(),
        tempfile.TemporaryDirectory(prefix="joader-threads-", ignore_cleanup_errors=True) as name,
    ):
        for _ in write_pictures(Path(name), range(pictures)):
            pass
        yield Path(name)


def _pillow(body: bytes) -> object:
    import io

    from PIL import Image

    with Image.open(io.BytesIO(body)) as picture:
        small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return small.tobytes()


def rate(prepare: Callable[[bytes], object], bodies: list[bytes], threads: int, s: float) -> float:
    """Return pictures per second of so many threads, over about so many seconds."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(prepare, bodies))
        done, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < s:
            done += len(list(pool.map(prepare, bodies)))
        return done / (time.perf_counter() - begun)


def enough(rates: dict[int, float]) -> int:
    """Return the fewest threads that give all but a little of the most."""
    most = max(rates.values())
    return min(threads for threads, each in rates.items() if each >= (1 - SLACK) * most)


def lobster_threads() -> Figure:
    """Return the figure of preparing by threads of one process."""
    said: list[str] = []

    def numbers(effort: Effort) -> tuple[int, ...]:
        most = 2 * cores() if effort.size >= 10_000 else cores() + 1
        step = max(1, most // 12)
        return tuple(dict.fromkeys((1, 2, *range(1 + step, most + 1, step))))

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        seconds = 2.0 if effort.size >= 10_000 else 0.25
        steps = Steps([Decode(), Resize(SIDE, SIDE)])
        ours, pillow = {}, {}
        with _folder(DISTINCT) as folder:
            bodies = [path.read_bytes() for path in sorted(folder.iterdir())]
            for threads in numbers(effort):
                ours[threads] = rate(steps, bodies, threads, seconds)
                pillow[threads] = rate(_pillow, bodies, threads, seconds)
                tick()
        said[:] = [
            f"enough threads here: {enough(ours)} (joader's steps), {enough(pillow)} (Pillow); "
            f"{cores()} cores. The paper's node: {PEAK} threads per GPU, of 128 cores for 8 GPUs"
        ]
        for threads, each in ours.items():
            yield Row("Pillow", threads, None, each, pillow[threads], "pictures/s")

    return Figure(
        name="lobster-threads",
        source="Lobster, figure 6",
        title="Preparing with several threads",
        scale=lambda effort: f"measured here: JPEGs of 640 × 480 to 224 × 224, {cores()} cores",
        case_label="baseline",
        x_label="threads",
        y_label="pictures/s",
        ours="joader's steps",
        baseline="Pillow",
        varies="baseline",
        rows=rows,
        steps=lambda effort: len(numbers(effort)),
        notes=lambda effort: tuple(said),
    )


def locality_threads() -> Figure:
    """Return the figure of one learner by workers and threads."""

    def workers(effort: Effort) -> tuple[int, ...]:
        if effort.size < 10_000:
            return (1, 2)
        return tuple(number for number in (1, 2, 4, 8, 10, 16) if number <= 2 * cores())

    def threads(effort: Effort) -> tuple[int, ...]:
        return (0, 2, 4) if effort.size >= 10_000 else (0, 2)

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        pictures = 400 if effort.size >= 10_000 else 96
        found: dict[tuple[str, int], float] = {}
        with _folder(pictures) as folder:
            for number in workers(effort):
                (found["joader", number],) = _learner(folder, "joader", number, (0,))
                tick()
                rates = _learner(folder, "torch", number, threads(effort))
                for each, per_s in zip(threads(effort), rates, strict=True):
                    found[f"{each} threads", number] = per_s
                tick()
        for each in threads(effort):
            for number in workers(effort):
                yield Row(
                    case=f"{each or 'no'} threads",
                    x=number,
                    paper=None,
                    ours=found["joader", number],
                    baseline=found[f"{each} threads", number],
                    unit="pictures/s",
                )

    return Figure(
        name="locality-threads",
        source="Locality-aware loading, figure 7",
        title="One learner, by workers and threads in each",
        scale=lambda effort: f"measured here: JPEGs of 640 × 480 to 224 × 224, {cores()} cores",
        case_label="torch with",
        x_label="workers",
        y_label="pictures/s",
        ours="joader",
        baseline="torch's loader, threads in each worker",
        varies="baseline",
        rows=rows,
        steps=lambda effort: 2 * len(workers(effort)),
        notes=lambda effort: (
            "a second pass is measured: workers have started. The paper's most, on 44 cores for 4 "
            "learners: 800 pictures/s",
        ),
    )


def _learner(folder: Path, loader: str, workers: int, threads: Sequence[int]) -> list[float]:
    """Return pictures per second of a pass with each number of threads, in another process."""
    with tempfile.TemporaryDirectory(prefix="joader-learner-") as name:
        processes = Processes(Path(name))
        try:
            process = processes.start(
                "learner",
                [
                    *("-m", "papers.live.learner", str(folder), loader),
                    *(str(workers), *map(str, threads)),
                ],
                JOADER_RUNTIME=name,
                JOADER_IDLE_S="1",
                JOADER_QUIET="1",
            )
            assert process.stdout is not None
            said = process.stdout.read().split()
            process.wait()
            processes.check()
        finally:
            processes.close()
    if len(said) < len(threads):
        raise WorldError("the learner ended before it had said all")
    return [float(word) for word in said]
