"""What tests may see of a sampler's inside: the rows of each group by who still needs them."""

import numpy as np
from numpy.typing import NDArray

from joader.sampling import DependentSampler

Cells = list[tuple[frozenset[object], NDArray[np.int64]]]


def cells_of(sampler: DependentSampler, group: int = 0) -> Cells:
    """Return (jobs, rows ascending) for each cell of a group that has rows."""
    home = sampler._groups[group]
    names = {member.number: job for job, member in sampler._jobs.items() if member.group is home}
    return [
        (
            frozenset(name for number, name in names.items() if cell.mask >> number & 1),
            np.sort(cell.view()).astype(np.int64),
        )
        for cell in home.cells
        if cell.rows
    ]
