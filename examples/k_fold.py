"""Five-fold cross-validation by five jobs at once: each picture is prepared about once.

    python examples/k_fold.py [FOLDER]

Every job trains on four fifths of the pictures and is tested on the fifth. Their parts overlap, and
joader prepares what they have in common once.
Needs: pip install '.[torch,images]', in the clone.
"""

import subprocess
import sys

import example_images
import torch
from single_job import Photos
from torch.utils.data import Subset

import joader

COUNT = 5


def train(number):
    torch.set_num_threads(1)
    photos = Photos(example_images.folder())
    learn, held_out = joader.folds(len(photos), COUNT)[number]
    layers = [torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)]
    model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(8, 1000))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loader = joader.DataLoader(Subset(photos, learn), batch_size=16, shuffle=True)
    for _ in range(2):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(inputs(images)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    right = 0
    for images, labels in joader.DataLoader(Subset(photos, held_out), batch_size=16):
        right += int((model(inputs(images)).argmax(1) == labels).sum())
    print(f"fold {number}: {right} of {len(held_out)} right, {loader.stats()}", flush=True)


def inputs(images):
    return images.permute(0, 3, 1, 2).float() / 255


def main():
    if "--fold" in sys.argv:
        number = int(sys.argv.pop())
        sys.argv.remove("--fold")
        train(number)
        return
    command = [sys.executable, __file__, *sys.argv[1:], "--fold"]
    jobs = [subprocess.Popen([*command, str(number)]) for number in range(COUNT)]
    failed = [job.returncode for job in jobs if job.wait()]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
