"""Which jobs take part in which round of a joint draw.

A draw of {a: 64, b: 16} has 64 rounds; b takes part in 16 of them, spread evenly. This is fixed
before any row is drawn, so taking part cannot depend on what is drawn.
"""

from collections.abc import Sequence


def players_by_round(counts: Sequence[tuple[int, int]], rounds: int) -> list[int]:
    """Return for each round the mask of its players, from (bit, count) with count <= rounds."""
    everybody = sum(bit for bit, count in counts if count == rounds)
    masks = [everybody] * rounds
    for bit, count in counts:
        if count != rounds:
            for number in range(count):
                # The round in which the number of rows that are due reaches number + 1.
                masks[-(-(number + 1) * rounds // count) - 1] |= bit
    return masks
