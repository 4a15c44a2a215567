"""Stop in the middle of an epoch and go on in another process: each picture is read once.

python examples/resume.py [FOLDER]     # stops after a third of the epoch, and saves
python examples/resume.py [FOLDER]     # goes on, reads the rest, and removes the checkpoint

Needs: pip install '.[torch,images]', in the clone.
"""

import example_images
import torch

from joader import DataLoader
from joader.images import Decode, Resize

CHECKPOINT = example_images.CACHE / "checkpoint.pt"


class Numbered(example_images.Files):
    """Pictures with their numbers, so that one can see which were read."""

    def __getitem__(self, row):
        return super().__getitem__(row)[0], row


def main():
    data = Numbered(example_images.folder())
    loader = DataLoader(data, batch_size=16, shuffle=True, prepare=[Decode(), Resize(64, 64)])
    seen, resumes = [], CHECKPOINT.exists()
    if resumes:
        saved = torch.load(CHECKPOINT)
        loader.load_state_dict(saved["loader"])  # a small dictionary of plain data
        seen = saved["seen"]
        print(f"goes on after {len(seen)} pictures")
    for images, numbers in loader:
        assert images.shape[1:] == (64, 64, 3)
        seen += numbers.tolist()  # train on them here
        if not resumes and len(seen) >= len(data) // 3:
            CHECKPOINT.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"loader": loader.state_dict(), "seen": seen}, CHECKPOINT)
            print(f"stopped after {len(seen)} pictures; start it again to go on")
            return
    assert sorted(seen) == list(range(len(data)))
    print(f"done: each of {len(data)} pictures was read once")
    CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
