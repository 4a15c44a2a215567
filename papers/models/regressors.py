"""A-Dloader's four regressors (Table I), compared on the same runs.

scikit-learn's, with its own defaults but for what is said here; it is imported only to fit. Each
learns the time (of a step, of a row), as formulas 6 and 7 have it, and is judged by the rate.
Errors count relative to the time where a regressor can weigh them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joader.errors import MissingExtra, to_install
from papers.models.accuracy import Accuracy, accuracy

Array = NDArray[np.float64]

# The last two are of the nearest neighbors, and a random forest.
NAMES = ("linear", "polynomial", "neighbors", "forest")
_SEED = 0


def compare(
    rows: Array, times: Array, learned: Sequence[int], held: Sequence[int]
) -> list[tuple[str, Accuracy]]:
    """Fit each to the runs that are learned from, and return how far it is from the others."""
    rates = (1.0 / times[held]).tolist()
    return [(name, accuracy(_rates(name, rows, times, learned, held), rates)) for name in NAMES]


def _rates(
    name: str, rows: Array, times: Array, learned: Sequence[int], held: Sequence[int]
) -> list[float]:
    return [float(one) for one in 1.0 / predictor(name, rows[learned], times[learned])(rows[held])]


def predictor(name: str, rows: Array, times: Array) -> Callable[[Array], Any]:
    """Fit one, and return what says how long a run takes."""
    try:
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.linear_model import LinearRegression
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    except ImportError as error:
        raise MissingExtra(
            f"comparing regressors needs scikit-learn: {to_install('profile')}"
        ) from error
    weights = 1.0 / times**2
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0.0] = 1.0
    least = float(times.min()) / 2  # a line may cross zero; a time cannot
    models: dict[str, Any] = {
        "linear": lambda: LinearRegression(),
        "polynomial": lambda: make_pipeline(PolynomialFeatures(2), LinearRegression()),
        "neighbors": lambda: make_pipeline(
            StandardScaler(), KNeighborsRegressor(min(3, len(times)), weights="distance")
        ),
        "forest": lambda: RandomForestRegressor(random_state=_SEED),
    }
    model = models[name]()
    match name:
        case "linear":
            model.fit(rows / scale, times, sample_weight=weights)
        case "polynomial":
            model.fit(rows / scale, times, linearregression__sample_weight=weights)
        case "forest":
            model.fit(rows / scale, times, sample_weight=weights)
        case _:
            model.fit(rows / scale, times)
    return lambda more: np.maximum(model.predict(more / scale), least)
