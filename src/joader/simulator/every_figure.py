"""Every figure that can be rerun, by name, in the order in which they are listed."""

from joader.simulator.appendix import FIGURES
from joader.simulator.papers import (
    locality_balance,
    locality_epochs,
    locality_imbalance,
    locality_model,
    locality_scaling,
    locality_waiting,
)
from joader.simulator.streams_figure import STREAMS

LOCALITY = (
    locality_waiting.FIGURE,
    locality_imbalance.FIGURE,
    locality_balance.FIGURE,
    locality_model.FIGURE,
    locality_scaling.FIGURE,
    locality_epochs.FIGURE,
)
EVERY_FIGURE = {
    **FIGURES,
    **{figure.name: figure for figure in (*LOCALITY, STREAMS)},
}
