"""The layouts of prepared samples in their slots, by number: sent to a client once, then cited.

Samples of one shape share one layout, so clients are told its number instead. Ragged data has as
many layouts as samples, so a layout is dropped with its last sample, and what a client must
remember is bounded: at the bound, the next batch tells it to forget all earlier layouts.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from joader.messages import Finish, Prepare

# The most layouts a client has to remember, about 1 kB each.
MOST_KNOWN = 4096


class Layouts:
    """The layouts of all samples in memory."""

    def __init__(self) -> None:
        """Start without layouts."""
        self._number: dict[bytes, int] = {}
        self._bytes: dict[int, bytes] = {}
        self._count: dict[int, int] = {}  # by number: how many samples use it
        self._of: dict[int, int] = {}  # by sample: the number of its layout
        self._made = 0

    def __len__(self) -> int:
        """Return how many layouts are kept."""
        return len(self._bytes)

    def note(self, samples: Iterable[int], layouts: Iterable[bytes]) -> None:
        """Note the layouts of samples."""
        for sample, layout in zip(samples, layouts, strict=True):
            number = self._number.get(layout)
            if number is None:
                self._made += 1
                number = self._number[layout] = self._made
                self._bytes[number], self._count[number] = layout, 0
            # Counted before the old one is dropped: it may be the same one, which must stay.
            self._count[number] += 1
            if sample in self._of:
                self.forget((sample,))
            self._of[sample] = number

    def of(self, sample: int) -> bytes:
        """Return the layout of a sample; empty if it is not ready yet."""
        number = self._of.get(sample)
        return b"" if number is None else self._bytes[number]

    def with_sources(self, order: Finish) -> Finish:
        """Add to an order the layouts of the sources of its own parts.

        A source that is still being prepared has an empty one; its worker knows the layout.
        """
        return replace(order, layouts=tuple(map(self.of, order.sources)))

    def with_raw(self, order: Prepare) -> Prepare:
        """Add to an order the layouts of the raw forms that its rows are prepared from."""
        return replace(order, raw_layouts=tuple(map(self.of, order.raws))) if order.raws else order

    def forget(self, samples: Iterable[int]) -> None:
        """Drop samples, and layouts that no sample uses any more."""
        for sample in samples:
            number = self._of.pop(sample, None)
            if number is not None:
                self._count[number] -= 1
                if not self._count[number]:
                    del self._count[number], self._number[self._bytes.pop(number)]

    def told(
        self, samples: list[int], known: set[int]
    ) -> tuple[tuple[int, ...], dict[int, bytes], bool]:
        """Return the numbers of samples' layouts, those a client has not been told, and whether
        it is to forget all it was told before."""
        numbers = tuple(self._of[sample] for sample in samples)
        new = set(numbers) - known
        forget = len(known) + len(new) > MOST_KNOWN and bool(known)
        if forget:
            known.clear()
            new = set(numbers)
        known |= new
        return numbers, {number: self._bytes[number] for number in new}, forget
