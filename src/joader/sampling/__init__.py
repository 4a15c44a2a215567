"""Decides which row each job reads next.

Samplers are pure: rows and a seed in, rows out. `StreamSampler` gives each job exactly a reshuffle
and shares most; `DependentSampler` draws uniformly given what all jobs drew; the others are for
users who want them and for comparison.

Reading order: `sampler` (what each offers), `rows` (what comes in). Streams: `generation` (one
order and its clock), `follower` (one pass through it), `stream_group` (where passes begin),
`streams` (the sampler), with `blind` (draws that must not look), `forecast` (what is fixed already)
and `course` (a generation, made again elsewhere). Joint draws: `cells` (rows by the jobs that need
them), `rules` (one round, the paper's way), `coupling` (ours), `group` (which rule when),
`dependent` (the sampler). Others: `own_order`, `lockstep`. Also: `splits` (folds, growing subsets),
`row_index` (numbers for rows), `bits` (random integers).
"""

from joader.sampling.dependent import DependentSampler
from joader.sampling.lockstep import LockstepSampler
from joader.sampling.own_order import IndependentSampler, SeededSampler, SequentialSampler
from joader.sampling.sampler import Draws, Foresees, Sampler, Speed
from joader.sampling.splits import folds, growing
from joader.sampling.streams import StreamSampler

__all__ = [
    "DependentSampler",
    "Draws",
    "Foresees",
    "IndependentSampler",
    "LockstepSampler",
    "Sampler",
    "SeededSampler",
    "SequentialSampler",
    "Speed",
    "StreamSampler",
    "folds",
    "growing",
]
