"""A stock of a few slots and its readers, for tests of what is done with them."""

import numpy as np

from joader.cache import Cache
from joader.engine.limits import Limits
from joader.engine.plan import Drawn
from joader.engine.reader import Reader, Terms
from joader.engine.recipes import Recipe
from joader.engine.room import Room
from joader.engine.samplers import Samplers
from joader.engine.stock import Preparation, Stock
from joader.messages import Begin, Instruction
from joader.sampling import SequentialSampler
from joader.sampling.job_rows import JobRows

SLOT_BYTES = 64


class Shelf:
    """A stock with room for so many samples of one recipe.

    Rows are asked for in their order, so row n is sample n.
    """

    def __init__(self, slots: int, rows: int = 100) -> None:
        self.recipe = Recipe("code", rows, 0, Samplers(lambda order, seed: SequentialSampler(), 0))
        self.recipe.sizes.note(SLOT_BYTES)
        self.readers: dict[int, Reader] = {}
        self.out: list[Instruction] = []
        self.stock = Stock(Cache(slots * SLOT_BYTES), self.readers, self.out)
        self.room = Room(self.stock)

    def reader(self, job: int, batch_size: int = 1, terms: Terms | None = None) -> Reader:
        """Let a job come and plan all its rows, in order."""
        rows = JobRows(np.arange(self.recipe.row_limit), self.recipe.row_limit)
        plan = Drawn(job, rows, self.recipe.samplers.sampler("joint"), None)
        reader = Reader(job, self.recipe, rows, batch_size, Limits(), plan, terms or Terms())
        plan.begin(Begin(job, key=9), life=0)
        self.stock.cache.begin(job, np.arange(self.recipe.row_limit))
        reader.drew(plan.sampler.draw({job: self.recipe.row_limit})[job])
        reader.in_pass = True
        self.readers[job] = reader
        return reader

    def ask(self, reader: Reader, count: int = 1) -> None:
        """Let a reader ask for its next samples, and have them prepared."""
        for _ in range(count):
            place = len(reader.window.samples)
            position, home = reader.window.places[place], reader.window.homes[place]
            sample = self.stock.table.first.get(home)
            if sample is None:
                sample = self.stock.table.add(home)
                assert self.room.reserve(sample, SLOT_BYTES, reclaim=False)
                preparation = Preparation(
                    self.recipe, home, reader.job, reader.origin(position), self.recipe.sizes
                )
                self.stock.begin([sample], [preparation])
            reader.window.samples.append(sample)
            self.stock.cache.lease(sample)
            self.stock.underway[sample].waiting[reader.job, position] = reader
            reader.window.unready.add(position)
