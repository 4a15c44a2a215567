"""A job of `joader reproduce joader-accuracy`: trains at a fixed pace, with one of the loaders.

It says that it is ready, waits for a line, and at the end says the loss of each pass and the test
accuracy, as JSON.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from papers.live.network import Training, augmented, device, network, normalized
from papers.live.small_pictures import Part


class Kept:
    """Pictures that are decoded already: only the order matters here."""

    def __init__(self, part: Part) -> None:
        """Keep them."""
        self.part = part

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.part.y)

    def __getitem__(self, row: int) -> Any:
        """Return a picture and its class."""
        return np.array(self.part.x[row]), int(self.part.y[row])


def loader_of(side: str, data: Kept, batch: int, workers: int) -> Any:
    """Return torch's loader, or joader's with this order."""
    how: Any = {"batch_size": batch, "shuffle": True, "drop_last": True, "num_workers": workers}
    if side == "torch":
        return torch.utils.data.DataLoader(data, persistent_workers=True, **how)
    import joader

    how |= {"order": side, "deterministic": True, "key": "pictures", "fallback": False}
    return joader.DataLoader(data, **how)


def main() -> None:
    """Train as the first argument says."""
    its = json.loads(sys.argv[1])
    torch.manual_seed(its["seed"])
    torch.set_num_threads(1)
    folder, where = Path(its["folder"]), device()
    train, test = (
        Part(*(np.load(folder / f"{part}-{letter}.npy", mmap_mode="r") for letter in "xy"))
        for part in ("train", "test")
    )
    loader = loader_of(its["side"], Kept(train), its["batch"], its["workers"])
    steps = its["passes"] * len(loader)
    training = Training(network(its["width"]), steps, 0.2, where)
    print("ready", flush=True)
    sys.stdin.readline()
    step_s = its["pass_s"] / its["speed"] / len(loader)
    time.sleep(its["start"] * its["pass_s"])
    due, losses = time.perf_counter(), []
    for _ in range(its["passes"]):
        total = torch.zeros((), device=where)
        for images, labels in loader:
            total += training.step(augmented(normalized(images, where)), labels)
            due = max(due, time.perf_counter() - 0.2) + step_s
            time.sleep(max(0.0, due - time.perf_counter()))
        losses.append(total.item() / len(loader))
    said: dict[str, Any] = {"losses": losses, "accuracy": training.accuracy(test)}
    if its["side"] != "torch":
        stats = loader.stats()
        said |= {"delivered": stats.delivered, "prepared": stats.prepared}
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
