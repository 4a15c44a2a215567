"""The job sets state of modules before it loads: a config, a method, flags of PIL and torch."""

import config
import data
import torch
from loaders import WORKERS, attempt, batches, run
from PIL import ImageFile


def read_all(DataLoader, workers):
    for name in ("Sized", "Configured", "Patched", "Truncated", "Defaults"):
        loader = DataLoader(getattr(data, name)(), batch_size=4, **workers)
        attempt(f"{name} {workers}", lambda: batches(loader))


def main(DataLoader):
    before = data.Patched.value
    read_all(DataLoader, {"num_workers": 1})
    config.SIZE = 224
    config.cfg.INPUT.SIZE = 224
    config.cfg.INPUT.MEAN[0] = 0.5
    config.cfg.FROZEN = True
    data.Patched.value = lambda self, row: row + 1000
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    torch.set_default_dtype(torch.float64)
    try:
        for workers in WORKERS:
            read_all(DataLoader, workers)
    finally:
        config.SIZE = config.cfg.INPUT.SIZE = 1
        config.cfg.INPUT.MEAN[0], config.cfg.FROZEN = 0.0, False
        data.Patched.value = before
        ImageFile.LOAD_TRUNCATED_IMAGES = False
        torch.set_default_dtype(torch.float32)


if __name__ == "__main__":
    run(main)
