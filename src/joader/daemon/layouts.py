"""How prepared samples lie in their slots, by number: told to a client once, kept while in use.

Samples of one shape have one layout, so clients are told its number instead. Ragged data has as
many layouts as samples, so a layout goes with its last sample, and what a client must remember is
bounded: before it is too much, the client is told to forget all of it, with the next batch.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from joader.messages import Finish, Prepare

# Layouts that a client has to remember: about 1 kB each there.
MOST_KNOWN = 4096


class Layouts:
    """The layouts of all samples that are here."""

    def __init__(self) -> None:
        """Start without any."""
        self._number: dict[bytes, int] = {}
        self._bytes: dict[int, bytes] = {}
        self._count: dict[int, int] = {}  # how many samples have it
        self._of: dict[int, int] = {}  # by sample
        self._made = 0

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._bytes)

    def note(self, samples: Iterable[int], layouts: Iterable[bytes]) -> None:
        """Note how each of these samples lies in its slot."""
        for sample, layout in zip(samples, layouts, strict=True):
            number = self._number.get(layout)
            if number is None:
                self._made += 1
                number = self._number[layout] = self._made
                self._bytes[number], self._count[number] = layout, 0
            # Counted before the old one is forgotten: that may be the same one, and must not go.
            self._count[number] += 1
            if sample in self._of:
                self.forget((sample,))
            self._of[sample] = number

    def of(self, sample: int) -> bytes:
        """Return the layout of a sample; empty if it is not here yet."""
        number = self._of.get(sample)
        return b"" if number is None else self._bytes[number]

    def with_sources(self, order: Finish) -> Finish:
        """Return an order with the layouts of what own parts are made of.

        Of a source that is still in preparation it is empty; its worker knows it.
        """
        return replace(order, layouts=tuple(map(self.of, order.sources)))

    def with_raw(self, order: Prepare) -> Prepare:
        """Return an order with the layouts of the raw forms that its rows are prepared from."""
        return replace(order, raw_layouts=tuple(map(self.of, order.raws))) if order.raws else order

    def forget(self, samples: Iterable[int]) -> None:
        """Note that samples are gone."""
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
