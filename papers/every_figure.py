"""Every figure that can be rerun, by name, in the order in which they are listed."""

from papers.figures import (
    adloader_contention,
    adloader_dynamic,
    adloader_fig5,
    adloader_static,
    adloader_table1,
    joader_fig5,
    joader_fig6,
    joader_fig7a,
    joader_fig7b,
    joader_io,
    joader_table1,
    lobster_ablation,
    lobster_batchtimes,
    lobster_breakdown,
    lobster_gpu_use,
    lobster_hits,
    lobster_imbalance,
    lobster_reuse,
    lobster_speedup,
    locality_balance,
    locality_epochs,
    locality_imbalance,
    locality_model,
    locality_scaling,
    locality_waiting,
)
from papers.figures.appendix import FIGURES
from papers.figures.streams_figure import STREAMS

JOADER = (
    joader_table1.FIGURE,
    joader_fig5.FIGURE,
    joader_fig6.FIGURE,
    joader_fig7a.FIGURE,
    joader_fig7b.FIGURE,
    joader_io.FIGURE,
)
ADLOADER = (adloader_static.FIGURE, adloader_dynamic.FIGURE, adloader_contention.FIGURE)
MODELS = (adloader_table1.FIGURE, adloader_fig5.FIGURE)
LOBSTER = (
    lobster_breakdown.FIGURE,
    lobster_reuse.FIGURE,
    lobster_speedup.FIGURE,
    lobster_imbalance.FIGURE,
    lobster_batchtimes.FIGURE,
    lobster_hits.FIGURE,
    lobster_gpu_use.FIGURE,
    lobster_ablation.FIGURE,
)
LOCALITY = (
    locality_waiting.FIGURE,
    locality_imbalance.FIGURE,
    locality_balance.FIGURE,
    locality_model.FIGURE,
    locality_scaling.FIGURE,
    locality_epochs.FIGURE,
)
OF_THE_PAPERS = {
    **FIGURES,
    **{figure.name: figure for figure in (*JOADER, *ADLOADER, *MODELS, *LOBSTER, *LOCALITY)},
}
EVERY_FIGURE = {**OF_THE_PAPERS, STREAMS.name: STREAMS}
