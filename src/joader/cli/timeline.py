"""A timeline of shares: what each job had of the workers' time, policy by policy."""

from collections.abc import Sequence
from typing import Any, Protocol

from joader.cli.files import save_figure
from joader.cli.plot import COLOURS, pyplot


class Glanced(Protocol):
    """What is drawn of one moment."""

    @property
    def at_s(self) -> float:
        """When it was."""
        ...

    @property
    def used(self) -> dict[str, float]:
        """What workers computed for each job, in worker-seconds per second."""
        ...

    @property
    def per_s(self) -> dict[str, float]:
        """Samples per second of each job."""
        ...


class Timeline(Protocol):
    """What is drawn side by side."""

    @property
    def policy(self) -> str:
        """Under which policy it was."""
        ...

    @property
    def glances(self) -> Sequence[Glanced]:
        """The moments in order."""
        ...


def draw_timeline(outcomes: Sequence[Timeline], cores: float, path: str) -> None:
    """Draw one panel for each policy, with the same colors for the same jobs."""
    plt = pyplot()
    names = sorted({name for one in outcomes for glance in one.glances for name in glance.used})
    colors = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    with plt.rc_context({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "timeline"}):
        size = (3.4 * len(outcomes) + 1.4, 3.2)
        canvas, grid = plt.subplots(
            1, len(outcomes), figsize=size, layout="constrained", squeeze=False, sharey=True
        )
        for axes, outcome in zip(grid.flat, outcomes, strict=True):
            _panel(axes, outcome, names, colors, cores)
        grid.flat[0].set_ylabel("workers computing for the job")
        grid.flat[-1].legend(
            frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), reverse=True
        )
        try:
            save_figure(canvas, path)
        finally:
            plt.close(canvas)


def _panel(
    axes: Any, outcome: Timeline, names: Sequence[str], colors: dict[str, str], cores: float
) -> None:
    at = [glance.at_s for glance in outcome.glances]
    heights = [[glance.used.get(name, 0.0) for glance in outcome.glances] for name in names]
    axes.stackplot(
        at, heights, labels=names, colors=[colors[name] for name in names], linewidth=0, alpha=0.85
    )
    axes.axhline(cores, color="0.4", linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set_title(outcome.policy, loc="left", fontsize=10)
    axes.set_xlabel("seconds")
    axes.set_xlim(at[0] if at else 0.0, at[-1] if at else 1.0)
    axes.set_ylim(0, 1.1 * cores)
    axes.spines[["top", "right"]].set_visible(False)
