"""What is shared and what is a job's own: `prepare=`, `transform=`, `batch_transform=`.

    python examples/own_augmentation.py [FOLDER]

Shared steps are deterministic and done once for all jobs that have them. Own steps may be random,
and each job, epoch and picture gets random numbers of its own.
Needs: pip install '.[torch,images]', in the clone.
"""

import example_images
import torch

from joader import DataLoader
from joader.images import (
    Batch,
    Decode,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToTensor,
)

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def main():
    torch.set_num_threads(1)
    loader = DataLoader(
        example_images.Files(example_images.folder()),
        batch_size=32,
        shuffle=True,
        prepare=[Decode(), Resize(256, 256)],  # in the workers, once for all jobs
        transform=[RandomResizedCrop(224), RandomHorizontalFlip()],  # in the workers, for this job
        batch_transform=Batch([ToTensor(), Normalize(MEAN, STD)]),  # here; also on a GPU
        deterministic=True,  # nothing shared is random, so it may be kept for the next epoch
    )
    for epoch in range(2):
        brightness = []
        for images, _labels in loader:  # float32, batch × 3 × 224 × 224
            brightness.append(images.mean().item())
        mean = sum(brightness) / len(brightness)
        print(f"epoch {epoch}: last batch {tuple(images.shape)}, mean brightness {mean:.3f}")
        print(loader.stats())


if __name__ == "__main__":
    main()
