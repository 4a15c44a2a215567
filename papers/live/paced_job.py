"""A job of a live figure: decodes pictures, and waits for each batch as long as a GPU would take.

It says that it is ready and what it has used of processors, waits for a line, and at the end says
how long it took, as JSON.
"""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Subset

SIDE = 224


class Photos:
    """Pictures of a folder, decoded and resized."""

    def __init__(self, folder: str, tally: str) -> None:
        """Find them; the file `tally` gets a byte for each one that is decoded."""
        self.paths = sorted(str(path) for path in Path(folder).glob("*.jpg"))
        self.tally = tally

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.paths)

    def __getitem__(self, row: int) -> Any:
        """Return a picture as bytes."""
        with Image.open(self.paths[row]) as photo:
            small = photo.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        with open(self.tally, "ab") as tally:
            tally.write(b".")
        return np.array(small)


def loader_of(its: dict[str, Any]) -> Any:
    """Return torch's loader, or joader's with an order."""
    photos = Photos(its["folder"], its["tally"])
    rows = range(its["first"], its["last"])
    data: Any = photos if len(rows) == len(photos) else Subset(photos, rows)  # type: ignore[arg-type, unused-ignore]
    how: Any = {"batch_size": its["batch"], "shuffle": True, "num_workers": its["workers"]}
    if its["loader"] == "torch":
        return torch.utils.data.DataLoader(data, **how)
    import joader

    return joader.DataLoader(data, order=its["loader"], fallback=False, **how)


def used_s() -> float:
    """Return the processor seconds of this process and of the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    """Read as the first argument says."""
    its = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    loader = loader_of(its)
    print(json.dumps({"used_s": used_s()}), flush=True)
    sys.stdin.readline()
    time.sleep(its["start_s"])
    started = due = time.perf_counter()
    for _ in range(its["epochs"]):
        for batch in loader:
            # A step takes its time from when its batch is there, as on a GPU.
            due = max(due, time.perf_counter()) + its["row_s"] * len(batch)
            time.sleep(max(0.0, due - time.perf_counter()))
    print(json.dumps({"seconds": time.perf_counter() - started}), flush=True)


if __name__ == "__main__":
    main()
