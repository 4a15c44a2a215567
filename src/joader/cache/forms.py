"""Which form of a sample is worth its memory: as it is stored, or prepared.

Kept as stored (*raw*), a sample saves its next reading; kept *prepared*, its reading and its
preparation, in other bytes, mostly more. What a form saves, times how often it will be used per
second, over its bytes, is what it is *worth*. What is worth least leaves first; that is the *price*
of memory, which every form has to earn: of a sample that was just used, the form is kept whose
worth exceeds the price of its bytes by most, or none. So where reads are dear, memory fills with
raw samples as long as not all fit, and with prepared ones from then on (Seneca's partition), and
rows of other costs or sizes are each judged by their own.

How *soon* a sample is used does not count, only how often: what is used once per pass has to be
there when the pass ends, whether it was used long before or a moment ago. Of forms that are worth
the same, the one leaves that is used last.

Only where joader reads the bytes itself: a dataset that reads and decodes in one call has one form.
Used as it is by papers/simulators/two_forms.py; the engine follows from it what it does
(two_forms.py).
"""

from typing import NamedTuple

RAW, PREPARED = "raw", "prepared"


class Costs(NamedTuple):
    """Of one sample, as measured."""

    read_s: float
    prepare_s: float
    raw_bytes: int
    prepared_bytes: int

    def saved_s(self, form: str) -> float:
        """Return what need not be done again if this form is there."""
        return self.read_s if form == RAW else self.read_s + self.prepare_s

    def size_bytes(self, form: str) -> int:
        """Return how much memory it takes."""
        return self.raw_bytes if form == RAW else self.prepared_bytes


def worth(costs: Costs, form: str, uses_per_s: float = 1.0) -> float:
    """Return what a form saves per second and byte."""
    return costs.saved_s(form) * uses_per_s / costs.size_bytes(form)


def chosen(costs: Costs, price: float, uses_per_s: float = 1.0) -> str | None:
    """Return the form to keep at a price per byte; None if neither earns it."""
    best, most = None, 0.0
    for form in (RAW, PREPARED):
        earned = (worth(costs, form, uses_per_s) - price) * costs.size_bytes(form)
        if earned > most:
            best, most = form, earned
    return best
