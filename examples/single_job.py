"""One job: a dataset as in any torch script, and joader's loader in place of torch's.

    python examples/single_job.py [FOLDER]

Start it twice at the same time, and `joader status` shows that each picture is prepared once.
Needs: pip install '.[torch,images]', in the clone.
"""

import example_images
import numpy as np
import torch
from PIL import Image

from joader import DataLoader  # was: from torch.utils.data import DataLoader


class Photos(torch.utils.data.Dataset):
    """Decoded and resized pictures: what all jobs on this folder share."""

    def __init__(self, root):
        self.files = example_images.Files(root)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, row):
        with Image.open(self.files.paths[row]) as photo:
            return np.array(photo.convert("RGB").resize((64, 64))), self.files.labels[row]


def main():
    torch.set_num_threads(1)
    loader = DataLoader(Photos(example_images.folder()), batch_size=32, shuffle=True)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 1000),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(2):
        for images, labels in loader:  # uint8, batch × 64 × 64 × 3
            scores = model(images.permute(0, 3, 1, 2) / 255)
            loss = torch.nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}", flush=True)
    stats = loader.stats()
    print(f"{stats.delivered} samples delivered, {stats.prepared} prepared for this job")


if __name__ == "__main__":
    main()
