"""Train a small network on the demo's pictures; every job of the demo runs this script.

The demo runs it as it is, and again with the line that imports the loader changed. It reports its
progress in lines of JSON, and waits for a line before it starts, so that imports are not timed.
"""

import argparse
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader

SIDE, CROP, BATCH = 72, 64, 32


class Photos:
    """Decode and shrink a picture: the part that is the same for all jobs."""

    def __init__(self, folder: str, tally: str) -> None:
        """Find the pictures; the file `tally` gets a byte for each one that is decoded."""
        self.paths = sorted(str(path) for path in Path(folder).glob("*.jpg"))
        self.tally = tally

    def __len__(self) -> int:
        """Return how many pictures there are."""
        return len(self.paths)

    def __getitem__(self, row: int) -> tuple[Any, int]:
        """Return a picture as bytes, and its class."""
        with Image.open(self.paths[row]) as photo:
            small = photo.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        with open(self.tally, "ab") as tally:
            tally.write(b".")
        return np.array(small), int(self.paths[row][-5])


def augmented(images: torch.Tensor) -> torch.Tensor:
    """Crop and flip a batch at random, and convert it to floats: the job's own part."""
    top, left = torch.randint(0, SIDE - CROP + 1, (2,)).tolist()
    images = images[:, top : top + CROP, left : left + CROP].permute(0, 3, 1, 2)
    mirrored = torch.rand(len(images), 1, 1, 1) < 0.5
    return torch.where(mirrored, images.flip(3), images).float() / 128 - 1


def network(classes: int = 5) -> Any:
    """Return a network so small that loading dominates the time."""
    return torch.nn.Sequential(
        *_layer(3, 16, kernel=5, stride=4),
        *_layer(16, 32, kernel=3, stride=2),
        *_layer(32, 32, kernel=3, stride=2),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(32, classes),
    )


def _layer(before: int, after: int, kernel: int, stride: int) -> list[Any]:
    convolution = torch.nn.Conv2d(before, after, kernel, stride, padding=1)
    return [convolution, torch.nn.BatchNorm2d(after), torch.nn.ReLU()]


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def say(**values: Any) -> None:
    """Report to the demo."""
    print(json.dumps(values), flush=True)


def main() -> None:
    """Train, and report progress."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--tally", default=os.devnull)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = Photos(options.folder, options.tally)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    say(ready=True, cpu_at_start=cpu_seconds())
    input()
    started = time.perf_counter()
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, num_workers=options.workers)
    samples = 0
    for epoch in range(options.epochs):
        losses, right = [], 0
        for images, labels in loader:
            scores = model(augmented(images))
            loss = torch.nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses += [loss.item()] * len(labels)
            right += int((scores.argmax(1) == labels).sum())
            samples += len(labels)
            say(epoch=epoch, samples=samples, loss=sum(losses) / len(losses))
    seconds = time.perf_counter() - started
    say(
        seconds=seconds,
        samples=samples,
        loss=sum(losses) / len(losses),
        accuracy=right / len(losses),
    )


if __name__ == "__main__":
    main()
