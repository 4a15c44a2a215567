"""Table I of the locality paper, on a small scale: does it matter who trains on which row?

One device plays all nodes of a cluster. Global batches, weights and augmentation are the same for
both splits: *uniform* gives each node a slice of the global batch, *by home* the rows that live
there, evened out (`schedule.nodes`). The sum of the gradients is then the same (theorem 1), but for
batch normalization, which each node does by its own rows. The paper trains ResNet50 on ImageNet
for 90 epochs on 64 to 256 GPUs; this is CIFAR-10 and eight layers: its differences can be compared,
its accuracies cannot.
"""

from collections.abc import Iterator
from itertools import product
from statistics import fmean

import numpy as np

from joader.schedule.nodes.assignment import assign
from joader.schedule.nodes.placement import Node, homes
from papers.figure import Effort, Figure, Row
from papers.live.small_pictures import Part, Pictures, opened
from papers.runs import Tick
from papers.simulators.many_nodes import Counts, global_batches

LOCAL = 32  # rows of a node per step
PAPER = {16: (76.67, 76.81), 32: (75.33, 75.12), 64: (68.69, 69.54)}  # nodes: regular, local
NODES = (8, 16, 32)  # which stand for the paper's 16, 32, 64: batches double each time
# For all batches. In proportion to them, as usual for ImageNet, it is too much for this network:
# 83 % of the test pictures with a batch of 256, 73 % with 512, 29 % with 1,024, and ± 13 points.
RATE = 0.2
PASSES, WIDTH = 6, 32
SPLITS = ("by home", "uniform")


def arranged(batch: Counts, live: Counts, nodes: int, split: str) -> Counts:
    """Return the places of a batch's rows, node by node."""
    local = batch.size // nodes
    if split == "uniform":
        return np.arange(batch.size)
    trainer = assign(live[batch], [local] * nodes).trainer
    return np.argsort(trainer, kind="stable")


def trained(
    pictures: Pictures, split: str, nodes: int, passes: int, width: int, seed: int
) -> float:
    """Return the test accuracy, in percent, after so many passes."""
    import torch

    from papers.live.network import Training, augmented, device, network, normalized

    torch.manual_seed(seed)
    where = device()
    if where == "cpu":
        torch.set_num_threads(1)  # sums depend on the number, and figures on the seed alone
    total, size = len(pictures.train.y), nodes * LOCAL
    live = homes(np.arange(total), [Node(f"node-{number}") for number in range(nodes)], seed=seed)
    training = Training(network(width, nodes), passes * (total // size), RATE, where)
    augmentation = torch.Generator().manual_seed(seed)
    x, y = (torch.from_numpy(each).to(where) for each in (pictures.train.x, pictures.train.y))
    for number in range(passes):
        for batch in global_batches(total, size, seed + 1000 * number):
            if batch.size < size:
                continue  # the last one, as loaders with drop_last do
            # Augmented in the order of the batch, which is the same for both splits.
            rows = torch.from_numpy(batch).to(where)
            order = torch.from_numpy(arranged(batch, live, nodes, split)).to(where)
            some = augmented(normalized(x[rows], where), augmentation)
            training.step(some[order], y[rows][order])
    return 100 * training.accuracy(pictures.test)


def p_value(differences: list[float]) -> float:
    """Return how likely a mean as far from 0 is if signs are chance, by all ways to choose them."""
    seen = abs(fmean(differences)) - 1e-12
    means = [
        abs(fmean(sign * each for sign, each in zip(signs, differences, strict=True))) >= seen
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(means) / len(means)


class _Scale:
    """How large a run is: all of it, or a try."""

    def __init__(self, data: str | None, effort: Effort) -> None:
        self.full = effort.size >= 10_000
        self.nodes = NODES if self.full else (2, 4)
        self.seeds = 5 if self.full else 1
        self.passes, self.width = (PASSES, WIDTH) if self.full else (2, 4)
        self.rows = None if self.full else 320

    def pictures(self, data: str | None) -> Pictures:
        """Return what is trained on: at most so many rows."""
        if data is None:
            return opened(None, self.rows or 20_000)
        found = opened(data, 0)
        if self.rows is None:
            return found
        train, test = found.train, found.test
        return Pictures(
            Part(train.x[: self.rows], train.y[: self.rows]),
            Part(test.x[: self.rows], test.y[: self.rows]),
            f"the first {self.rows} pictures of CIFAR-10",
        )


def figure(data: str | None) -> Figure:
    """Return the figure, on the pictures of this folder, or on made ones."""
    said: list[str] = []

    def rows(seed: int, effort: Effort, tick: Tick) -> Iterator[Row]:
        scale = _Scale(data, effort)
        pictures = scale.pictures(data)
        found: dict[tuple[int, str], list[float]] = {}
        for nodes in scale.nodes:
            for number in range(seed, seed + scale.seeds):
                for split in SPLITS:
                    one = trained(pictures, split, nodes, scale.passes, scale.width, number)
                    found.setdefault((nodes, split), []).append(one)
                    tick()
        said[:] = [f"trained on {pictures.name}, {scale.passes} passes, {where()}"]
        if not scale.full:
            said.append("a try: it shows that it runs, and says nothing about accuracy")
        yield from _compared(found, scale, said)

    def steps(effort: Effort) -> int:
        scale = _Scale(data, effort)
        return len(scale.nodes) * scale.seeds * len(SPLITS)

    return Figure(
        name="locality-accuracy",
        source="Locality-aware loading, table I",
        title="Test accuracy if nodes train on the rows that live there",
        scale=lambda effort: scale_of(data, effort),
        case_label="what: nodes",
        x_label="",
        y_label="%",
        ours="by home",
        baseline="uniform split",
        varies="sets",
        rows=rows,
        steps=steps,
        panels=dict.fromkeys(("accuracy", "difference"), f"batches of {LOCAL} rows per node"),
        notes=lambda effort: tuple(said),
    )


def _compared(
    found: dict[tuple[int, str], list[float]], scale: _Scale, said: list[str]
) -> Iterator[Row]:
    """Compare both splits seed by seed; the paper's accuracies are of other data."""
    names = {nodes: f"{nodes} nodes" for nodes in scale.nodes}
    for nodes, name in names.items():
        home, uniform = (fmean(found[nodes, split]) for split in SPLITS)
        yield Row(f"accuracy: {name}", 1, None, home, uniform, "% of the test pictures")
    for (nodes, name), regular_local in zip(names.items(), PAPER.values(), strict=False):
        apart = [a - b for a, b in zip(*(found[nodes, s] for s in SPLITS), strict=True)]
        regular, local = regular_local
        paper = local - regular if scale.full else None
        yield Row(f"difference: {name}", 1, paper, fmean(apart), None, "points, by home")
        if len(apart) > 1:
            spread = np.std(apart, ddof=1)
            said.append(
                f"{name}: {fmean(apart):+.2f} points (± {spread:.2f} over {len(apart)} seeds), "
                f"p = {p_value(apart):.2f} by all signs; paper's {local - regular:+.2f}"
            )


def where() -> str:
    """Say what it was trained on."""
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else "on processors"


def scale_of(data: str | None, effort: Effort) -> str:
    """Say how large a run is."""
    scale = _Scale(data, effort)
    what = "CIFAR-10" if data else "made pictures"
    if scale.rows:
        what = f"a try on {scale.rows} {'pictures' if data else what}"
    return f"{what}, {scale.passes} passes, mean of {scale.seeds} seeds"
