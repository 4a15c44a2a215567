"""A collate_fn of the script's own gets samples as they lay in memory."""

import numpy as np
import torch
from loaders import WORKERS, run
from torch.utils.data import Dataset


class Images(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, row):
        image = np.full((5, 4, 3), row, np.uint8)
        return {
            "permuted": torch.from_numpy(image).permute(2, 0, 1),
            "channels_last": torch.ones(1, 3, 4, 5).contiguous(memory_format=torch.channels_last),
            "transposed": image.transpose(2, 0, 1),
            "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            "plain": image,
        }


def lies(value):
    if isinstance(value, np.ndarray):
        return value.strides, value.sum().item()
    return value.stride(), value.sum().item()


def as_they_lie(samples):
    return [{name: lies(value) for name, value in sample.items()} for sample in samples]


def main(DataLoader):
    for workers in WORKERS:
        for batch in DataLoader(Images(), batch_size=2, collate_fn=as_they_lie, **workers):
            print(batch)
        for batch in DataLoader(Images(), batch_size=2, **workers):
            batch.pop("channels_last")  # contiguous from torch's workers, else not
            print({name: (value.shape, value.is_contiguous()) for name, value in batch.items()})
        for sample in DataLoader(Images(), batch_size=None, **workers):
            print({name: value.stride() for name, value in sample.items()})


if __name__ == "__main__":
    run(main)
