"""Rows per second against workers (A-Dloader Fig. 5), drawn."""

from collections.abc import Sequence

from joader.cli.files import save_figure
from joader.cli.plot import COLOURS, pyplot
from papers.models.loading_rate import LoadingRate
from papers.models.runs import LoadingRun


def draw(runs: Sequence[LoadingRun], model: LoadingRate, path: str) -> None:
    """Draw what was measured, what the model says, and where its stages end."""
    plt = pyplot()
    with plt.rc_context({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "profile"}):
        canvas, axes = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
        workers = [run.workers for run in runs]
        axes.plot(
            workers, [run.rows_per_s for run in runs], "o", color=COLOURS[0], label="measured"
        )
        every = list(range(1, max(workers) + 1))
        axes.plot(
            every, [model.rows_per_s(d) for d in every], color=COLOURS[1], label="three stages"
        )
        before = 0
        for stage in model.stages:
            middle = (before + min(stage.most_workers, max(workers))) / 2
            axes.text(
                middle,
                1.0,
                stage.name,
                transform=axes.get_xaxis_transform(),
                ha="center",
                va="bottom",
            )
            if stage is not model.stages[-1]:
                axes.axvline(stage.most_workers, color="0.8", linewidth=0.8)
            before = stage.most_workers
        axes.set(xlabel="workers", ylabel="rows/s", xlim=(0, None), ylim=(0, None))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower right")
        axes.set_title(f"{runs[0].recipe}\n", loc="left", fontsize=10)
        try:
            save_figure(canvas, path)
        finally:
            plt.close(canvas)
