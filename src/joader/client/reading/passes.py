"""One pass over a loader's dataset: gets each batch, copies it, gives its slots back, yields it.

A pass copies each batch out of shared memory into a private one, gives the slots back, and only
then yields: what a user does to a batch reaches nobody else.

A batch is *asked for* (delivery.py), *assembled* (assembly.py), *collated* and then *noted*: from
then on it counts as yielded, and a state holds it. A batch that is being read in this process is
kept (`_unread`) until it is noted: an interrupt (Ctrl-C) must not cost its rows.

Why samples do not make a batch, in words: which rows have which types and shapes.
"""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from joader.client.order.source import Source
from joader.client.reading.assembly import Assembled, Assembly, better_here
from joader.client.reading.collate import Samples, Slots
from joader.client.reading.connection import Connection
from joader.client.reading.delivery import Delivery
from joader.client.reading.loader_view import Reading
from joader.client.reading.no_daemon import Alone
from joader.errors import BadArgument
from joader.memory import Layout
from joader.memory.layout import Branch, Node
from joader.messages import Deliver

_MOST_ROWS = 8
_MOST_FORMS = 6
_ADVICE = (
    "Samples of one batch need equal types and shapes: make them so in the dataset or in prepare= "
    "(Resize, CenterCrop), or give a collate_fn= that takes them as they are"
)


def forms(rows: Sequence[int], layouts: Sequence[Layout]) -> str:
    """Say which rows of a batch are of which form, and what to do if there are several."""
    by_form: dict[str, list[int]] = {}
    for row, layout in zip(rows, layouts, strict=True):
        by_form.setdefault(shown(layout.form), []).append(row)
    told = sorted(by_form.items(), key=lambda item: -len(item[1]))
    parts = [f"{_numbers(rows)}: {form}" for form, rows in told[:_MOST_FORMS]]
    if len(told) > _MOST_FORMS:
        parts.append(f"and {len(told) - _MOST_FORMS} more forms")
    text = f"(joader) this batch was made of {'; '.join(parts)}."
    return f"{text} {_ADVICE}" if len(told) > 1 else text


def shown(node: Node) -> str:
    """Return a sample's form as one would write it."""
    if isinstance(node, Branch):
        inner = [shown(child) for child in node.children]
        if len(node.names) == len(inner):
            inner = [f"{name}: {child}" for name, child in zip(node.names, inner, strict=True)]
        return f"{node.kind}({', '.join(inner)})"
    if not node.dtype and not node.shape:
        return node.kind
    return f"{node.kind} {node.dtype.lstrip('|<>=')}{list(node.shape)}"


def _numbers(rows: list[int]) -> str:
    first = ", ".join(map(str, rows[:_MOST_ROWS]))
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return f"row{'s' if len(rows) > 1 else ''} {first}{more}"


class Pass:
    """An iterator over the batches of one pass."""

    def __init__(
        self, loader: Reading, connection: Connection | Alone, source: Source, ahead: int
    ) -> None:
        """Begin, asking for `ahead` batches at a time; 0: for each when it is waited for.

        Ranks begin with the first batch: a rank that only calls iter() takes part in no pass.
        """
        self._loader = loader
        self.source = source
        self._delivery = Delivery(loader, connection, source, ahead)
        self._assembly = Assembly(loader, source)
        self._unread: Deliver | None = None  # a batch that is being read here
        self._transform_s = 0.0  # what `batch_transform` took for the batch before
        self._over = ""  # why it goes no further
        self._given_back = False
        # Reentrant: user code that runs while a batch is made may ask for another.
        self._one_at_a_time = threading.RLock()
        if loader.goes_on_elsewhere:
            self._delivery.begin()

    @property
    def connection(self) -> Connection | Alone:
        """Who serves the pass now."""
        return self._delivery.connection

    def __iter__(self) -> "Pass":
        """Return itself."""
        return self

    def __reduce__(self) -> Any:
        """Refuse to be copied or pickled, as torch's iterators do."""
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def __len__(self) -> int:
        """Return the number of batches of a full pass, as torch's iterators do."""
        return len(self._loader)

    def __next__(self) -> Any:
        """Return the next batch; threads that share an iterator get one each."""
        with self._one_at_a_time:
            return self._next()

    def hand_over(self) -> Connection | Alone:
        """Leave the connection to another pass; this one is over."""
        self._over = "was ended by the next one, as ranks read one at a time"
        return self.connection

    def _next(self) -> Any:
        while True:
            self._check()
            if what := self._loader.change():
                self._read_as_it_is(what)
            started = time.perf_counter()
            batch = self._unread or self._delivery.next()
            if self._loader.tries_here and (why := better_here(batch)):
                # If the dataset keeps state, no sample from a worker was yielded: the first row
                # tells.
                self._loader.bring_no_workers(why)
                self._delivery.register_anew()
                continue
            what = self._loader.change_of(partial(self.source.positions, batch))
            if what and self._read_as_it_is(what):
                continue
            by = self.connection
            here = time.perf_counter()
            wait_s, read_s = here - started, 0.0
            try:
                made = self._assembled(batch)
                if isinstance(made.whole, Samples):
                    read_s, here = time.perf_counter() - here, time.perf_counter()
                data = None if made.whole is None else self._collated(batch, made.whole)
            except BaseException as error:
                if isinstance(error, Exception) and self.connection.ended:
                    # The slots may have been written over while they were copied: what went wrong
                    # is not the user's fault, and the batch comes again from elsewhere.
                    self._unread = None
                    continue
                if self._unread is not None:
                    raise  # Ctrl-C came while it was read: it is still to come
                self._delivery.note(batch)  # a batch that cannot be collated is over
                raise
            self._unread = None
            if self.connection.ended:
                continue  # as above, but without an error to show for it
            # Before it is yielded: a state that is saved in the loop's body must hold it.
            collate_s = time.perf_counter() - here + self._transform_s
            self._delivery.note(batch, wait_s, read_s, collate_s)
            if made.failure is not None:  # as with torch, the next batch is another
                try:
                    raise made.failure
                finally:
                    del made  # no ring with the traceback
            replaced = max(0, made.size - (len(batch.positions) - made.failed))
            self._loader.count(batch, wait_s, made.failed, replaced, by)
            if made.whole is not None:
                return self._finished(data)

    def _read_as_it_is(self, what: str) -> bool:
        """Have the rest of the pass read here; return whether the batch in hand comes again.

        The training loop has changed the dataset.
        """
        again = self._loader.read_as_it_is(what) and isinstance(self.connection, Connection)
        self._assembly.begin_again()
        if again:
            self._unread = None
            self._delivery.register_anew()
        return again

    def _assembled(self, batch: Deliver) -> Assembled:
        """Return what to make a batch of."""
        if not self._assembly.reads_here(batch):
            return self._assembly.of_slots(batch, self.connection)
        unread = self._assembly.unread(batch, self.connection, self._delivery.read)
        # Not before: a sample that cannot be unpickled fails each time, and would be kept for ever.
        self._unread = batch
        made = self._assembly.of_samples(unread)
        self._loader.note_own_changes()
        return made

    def _collated(self, batch: Deliver, whole: Slots | Samples) -> Any:
        try:
            return self._loader.collated(whole)
        except Exception as error:  # of the user's collate_fn, or of torch's
            if isinstance(whole, Slots):
                rows = self._assembly.good_rows(batch, len(whole.layouts))
                error.add_note(forms(rows, whole.layouts))
            self._unread = None  # it would fail again
            raise

    def _finished(self, data: Any) -> Any:
        """Apply the batch transform; what it takes is said with the next batch."""
        begun, self._transform_s = time.perf_counter(), 0.0
        finished = self._loader.finished(data)
        self._transform_s = time.perf_counter() - begun
        return finished

    def _check(self) -> None:
        """Raise if there is no next batch; begin the pass if it has not begun."""
        complete = self.source.complete  # first: the sampler may be asked, and fail
        self.source.raise_error()
        if complete and self._unread is None:
            self._give_connection_back()
            raise StopIteration
        if self._over or not self.connection.usable_here:
            raise BadArgument(
                f"this pass {self._over or 'was begun in another process, or was closed'}; begin "
                "one with iter()"
            )
        if not self._delivery.begun:
            self._delivery.begin()

    def _give_connection_back(self) -> None:
        """Leave the connection to the loader's next pass, once: it is the same job."""
        if self._given_back:
            return
        self._given_back = True
        if self.connection.usable_here and not self.connection.lost and not self._over:
            self._loader.keep(self.connection)

    def __del__(self, _ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Leave the connection to the loader when a pass is broken off; not when Python ends."""
        # A default argument, as globals may be gone by then; the lock is the last attribute set.
        if hasattr(self, "_one_at_a_time") and not _ends():
            self._give_connection_back()
