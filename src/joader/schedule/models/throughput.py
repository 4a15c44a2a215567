"""A-Dloader's throughput of a job (formula 5): what it trains or what is loaded, the lesser."""

from joader.schedule.models.loading_rate import LoadingRate


def samples_per_s(batch: int, step_s: float, loading: LoadingRate, workers: float) -> float:
    """Return the throughput of a job with so many workers: B · min(F_μ, F_λ)."""
    return min(batch / step_s, loading.rows_per_s(workers))


def workers_needed(batch: int, step_s: float, loading: LoadingRate, most: int) -> float:
    """Return d′, the workers at which a job never waits, not whole; `most` if it always does."""
    return loading.workers_for(batch / step_s, most)
