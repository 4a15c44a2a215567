"""Decides which row each job reads next.

Samplers are pure: rows and a seed in, rows out. `StreamSampler` gives each job exactly a reshuffle
and shares most; `DependentSampler` draws uniformly given what all jobs drew; the others are for
users who want them and for comparison.
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
