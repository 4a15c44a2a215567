"""The dataset is changed at every point: after the loader was made, and between epochs."""

import random

import data
from loaders import WORKERS, attempt, batches, run
from torch.utils.data import Subset

SCALE = 1


class Scaled(data.Rows):
    """Looks at a global of the script."""

    def __getitem__(self, row):
        return SCALE * super().__getitem__(row)


def set_attribute(rows):
    rows.offset += 10


def set_class_attribute(rows):
    data.Rows.level += 1


def set_module_global(rows):
    data.OFFSET += 1


def set_script_global(rows):
    global SCALE
    SCALE += 1


def shuffle_samples(rows):
    random.Random(7).shuffle(rows.samples)


def change_in_a_sample(rows):
    rows.samples[3]["value"] += 50


def change_array_in_place(rows):
    rows.array[2:4] += 7


def set_epoch(rows):
    rows.set_epoch(rows.epoch + 1)


def replace_transform(rows):
    rows.transform = data.negate if rows.transform is None else None


def append(rows):
    rows.samples.append({"value": 77})


CHANGES = (
    *(set_attribute, set_class_attribute, set_module_global, set_script_global, shuffle_samples),
    *(change_in_a_sample, change_array_in_place, set_epoch, replace_transform, append),
)


def main(DataLoader):
    global SCALE
    for change in CHANGES:
        for workers in WORKERS:
            rows = Scaled()
            loader = DataLoader(rows, batch_size=4, **workers)
            change(rows)
            attempt(f"{change.__name__} {workers}, loader made", lambda: batches(loader))
            change(rows)
            attempt("after an epoch", lambda: (len(loader), batches(loader)))
            data.Rows.level, data.OFFSET, SCALE = 0, 0, 1
    rows = Scaled()
    train = DataLoader(Subset(rows, [0, 2, 4]), batch_size=3, num_workers=2)
    other = DataLoader(Subset(rows, [1, 3, 5]), batch_size=3, num_workers=2)
    for offset in (0, 10, 20):
        rows.offset = offset
        print("below subsets", batches(train), batches(other))


if __name__ == "__main__":
    run(main)
