"""What follows from what was measured; the method is DS-Analyzer's (Mohan et al., VLDB 2021, §3).

A training step that needs no data has the rate *synthetic*. With data in memory it has the rate
*cached*: what is lost is the stall of preparing. With data as it comes it has the rate *fresh*: the
rest of what is lost is the stall of reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from joader.cli.words import duration, printable

# Rates are measured for seconds: within so much of each other they count as equal.
EQUAL = 0.05
# Epochs that are shorter say nothing in seconds.
_LONG_S = 10.0


@dataclass(frozen=True)
class Rates:
    """Samples per second, by mode; None: it was not measured, or could not be."""

    fresh: float
    cached: float | None = None
    synthetic: float | None = None
    joader: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Parts of the time that the training step stands still, and what joader would give."""

    stall: float | None  # in all; None: there is no training step
    preparing: float | None
    reading: float | None
    bottleneck: bool | None
    with_torch: dict[int, float]  # samples/s of each of so many jobs, predicted
    with_joader: dict[int, float]


@dataclass(frozen=True)
class Loader:
    """One loader of a script."""

    name: str
    rows: int | None  # of a pass; None: it does not say
    rates: Rates


def together(loaders: Sequence[Loader]) -> Rates:
    """Return the rates of an epoch, in which each loader is read once.

    If not all say how long they are, those of the first, which most time is spent on.
    """
    if len(loaders) == 1 or any(not one.rows for one in loaders):
        return loaders[0].rates
    rows = sum(one.rows or 0 for one in loaders)

    def over_all(mode: str) -> float | None:
        rates = [getattr(one.rates, mode) for one in loaders]
        if not all(rates):
            return None
        seconds = sum((one.rows or 0) / rate for one, rate in zip(loaders, rates, strict=True))
        return float(rows / seconds)

    return Rates(
        fresh=over_all("fresh") or loaders[0].rates.fresh,
        cached=over_all("cached"),
        synthetic=over_all("synthetic"),
        joader=over_all("joader"),
    )


def verdict(rates: Rates, jobs: tuple[int, ...] = (1, 2, 4)) -> Verdict:
    """Judge rates; each of several equal jobs is taken to have an accelerator of its own."""
    top = rates.synthetic
    alone = rates.joader if rates.joader is not None else rates.fresh
    # Jobs with torch share the cores, jobs with joader what the cores have prepared.
    most = float("inf") if top is None else top
    torch = {n: min(most, rates.fresh / n if _is_bound(rates) else rates.fresh) for n in jobs}
    ours = {n: min(most, alone) for n in jobs}
    if top is None:
        return Verdict(None, None, None, None, torch, ours)
    stall = max(0.0, 1 - rates.fresh / top)
    cached = rates.fresh if rates.cached is None else max(rates.fresh, rates.cached)
    preparing = None if rates.cached is None else max(0.0, 1 - min(top, cached) / top)
    reading = None if preparing is None else max(0.0, stall - preparing)
    return Verdict(stall, preparing, reading, stall > EQUAL, torch, ours)


def _is_bound(rates: Rates) -> bool:
    """Tell whether data is what limits one job: only then more jobs get less each for sure."""
    return rates.synthetic is None or rates.fresh < (1 - EQUAL) * rates.synthetic


def in_words(
    rates: Rates, found: Verdict, loaders: Sequence[Loader] = (), left_out: Sequence[str] = ()
) -> list[str]:
    """Return the answer to both questions; `left_out` are datasets that were not measured."""
    lines = []
    if left_out:
        names = printable(", ".join(left_out))
        lines.append(
            f"Only the first {len(loaders)} loaders of the script were measured; not: {names}."
        )
    if found.stall is None:
        lines.append(
            f"Data comes at {rates.fresh:,.0f} samples/s here. A training step that takes less "
            "never waits for it; a faster one does."
        )
    elif found.bottleneck:
        line = (
            f"Data is the bottleneck: the step could take {rates.synthetic:,.0f} samples/s and "
            f"gets {rates.fresh:,.0f}. It stands still {found.stall:.0%} of the time"
        )
        if found.preparing is not None and found.reading is not None:
            line += f": {found.preparing:.0%} for preparing, {found.reading:.0%} for reading"
        lines.append(line + ".")
    else:
        lines.append(
            f"Data is not the bottleneck: the step takes {rates.fresh:,.0f} samples/s with it and "
            f"{rates.synthetic:,.0f} without. joader would save processors, not hours."
        )
    if rates.joader is not None:
        lines.append(f"With joader one job alone gets {rates.joader:,.0f} samples/s (measured).")
    rows = sum(one.rows or 0 for one in loaders)
    if all(one.rows for one in loaders) and rows / rates.fresh >= _LONG_S:
        times = [("as it is", rates.fresh), ("with joader", rates.joader)]
        if found.bottleneck:
            times.append(("if it never waited", rates.synthetic))
        told = ", ".join(f"{duration(rows / rate)} {words}" for words, rate in times if rate)
        lines.append(f"An epoch of {rows:,} samples takes {told}.")
    several = [n for n, torch in found.with_torch.items() if n > 1 and torch]
    gains = {n: found.with_joader[n] / found.with_torch[n] for n in several}
    for n, gain in gains.items():
        lines.append(
            f"{n} such jobs at once, predicted: {found.with_torch[n]:,.0f} samples/s each with "
            f"torch, {found.with_joader[n]:,.0f} with joader "
            f"({f'{gain:.1f}' if gain >= 1 else f'{gain:.2f}'} ×)."
        )
    if gains and max(gains.values()) < 1 - EQUAL:
        lines.append(
            "joader does not help here: samples as cheap as these are prepared faster than handed "
            "over."
        )
    return lines
