"""Datasets that have only some rows in common: what they have in common is prepared once."""

import json
from pathlib import Path

import pytest

from tests.processes.conftest import Node

PRELUDE = """
from joader import images
from joader.storage import open_storage

def together(*datasets, **options):
    '''Read datasets side by side; return what was read of each, and what was prepared.'''
    options = {"batch_size": 4, "shuffle": True, "as_numpy": True, **options}
    loaders = [joader.DataLoader(dataset, **options) for dataset in datasets]
    passes, read = list(map(iter, loaders)), [[] for _ in loaders]
    reading = list(range(len(loaders)))
    while reading:
        for number in list(reading):
            batch = next(passes[number], None)
            if batch is None:
                reading.remove(number)
            else:
                read[number].append(batch)
    prepared = sum(loader.stats().prepared for loader in loaders)
    for loader in loaders:
        loader.close()
    return read, prepared

def pairs(batches):
    return [[i.decode(), int(n)] for images, labels in batches for i, n in zip(images, labels)]
"""


def folder(root: Path) -> Path:
    """Write 3 classes of 10 files, and 5 more in a folder below each; a file holds its own path."""
    for number, name in enumerate(["a", "b", "c"]):
        (root / name / "deep").mkdir(parents=True)
        for place, count in (("", 10), ("deep", 5)):
            for file in range(count):
                path = root / name / place / f"{file}.png"
                path.write_bytes(f"{number} {path.relative_to(root)}".encode())
    return root


def test_a_folder_and_its_sub_folders_share_files_with_labels_and_without(node: Node) -> None:
    root = folder(node.folder / "data")
    node.up()
    script = f"""
root = {str(root)!r}
whole, deep = open_storage(root), open_storage(root + "/b")
part = open_storage(root + "/b", kind="files")
read, prepared = together(whole, part, deep)
say(pairs(read[0]))
say([image.decode() for images in read[1] for image in images])
say(pairs(read[2]))
say(prepared)
"""
    labelled, plain, below, prepared = node.job(PRELUDE + script).result()
    files = [str(path.relative_to(root)) for path in sorted(root.rglob("*.png"))]
    assert sorted(image.split()[1] for image, _ in labelled) == files
    assert all(int(image.split()[0]) == label for image, label in labelled)
    assert sorted(image.split()[1] for image in plain) == [f for f in files if f[0] == "b"]
    assert sorted(image.split()[1] for image, _ in below) == [f for f in files if "b/deep" in f]
    assert {label for _, label in below} == {0}
    assert prepared == len(files)


def test_own_code_sees_whole_samples_and_shares_what_is_equal(node: Node) -> None:
    root = folder(node.folder / "data")
    node.up()
    script = f"""
root = {str(root)!r}
def tagged(sample):
    image, label = sample
    return image + b"!", label
two = open_storage(root), open_storage(root)
read, prepared = together(*two, prepare=[tagged], deterministic=True)
say(pairs(read[1]))
say(prepared)
"""
    rows, prepared = node.job(PRELUDE + script).result()
    assert len(rows) == 45
    assert all(image.endswith("!") and int(image[0]) == label for image, label in rows)
    assert prepared == 45


def test_a_folder_whose_files_changed_is_another(node: Node) -> None:
    root = folder(node.folder / "data")
    node.up()
    script = f"""
root = {str(root)!r}
before = open_storage(root + "/a", kind="files")
first = joader.DataLoader(before, batch_size=4, as_numpy=True)
one = iter(first)
next(one)
for name in os.listdir(root + "/a/deep"):
    open(root + "/a/deep/" + name, "ab").write(b" new")
second = joader.DataLoader(open_storage(root, kind="files"), batch_size=4, as_numpy=True)
say(sorted(image.decode() for images in second for image in images))
say(second.stats().shared)
"""
    rows, shared = node.job(PRELUDE + script).result()
    assert len(rows) == 45
    assert sum(row.endswith(" new") for row in rows) == 5
    assert shared <= 10  # of what lies in a itself; what lies in a/deep is other content now


def test_who_leaves_first_takes_nothing_away(node: Node) -> None:
    # Rows that the other waits for were ordered under the name of who has left.
    root = folder(node.folder / "data")
    node.up("2MiB", 1)
    script = f"""
import random
root = {str(root)!r}
for turn in range(10):
    whole, part = open_storage(root, kind="files"), open_storage(root + "/b", kind="files")
    options = {{"batch_size": 3, "shuffle": True, "as_numpy": True}}
    one, other = joader.DataLoader(whole, **options), joader.DataLoader(part, **options)
    reads, rest = iter(one), iter(other)
    next(reads)
    rows = [image.decode() for image in next(rest)]
    one.close() if turn % 2 else None
    del reads
    rows += [image.decode() for images in rest for image in images]
    assert len(set(rows)) == len(rows) == 15, rows
    one.close(), other.close()
say("fine")
"""
    assert node.job(PRELUDE + script).result() == ["fine"]


def test_lists_in_another_order_and_concatenations_share(node: Node) -> None:
    root = folder(node.folder / "data")
    node.up()
    script = f"""
import glob, random
from torch.utils.data import ConcatDataset
root = {str(root)!r}
files = sorted(glob.glob(root + "/**/*.png", recursive=True))
mixed = random.Random(1).sample(files, len(files))
labels = [int(open(path).read()[0]) for path in mixed]
a, b = open_storage(root + "/a", kind="files"), open_storage(root + "/b", kind="files")
read, prepared = together(
    open_storage(root), open_storage(mixed, labels=labels), ConcatDataset([b, a]), b,
    open_storage(root + "/**/*.png"),
)
say(sorted(pairs(read[0])) == sorted(pairs(read[1])) and len(pairs(read[1])))
say([sorted(image.decode() for images in some for image in images) for some in read[2:4]])
say(sum(len(images) for images in read[4]))
say(prepared)
loader = joader.DataLoader(ConcatDataset([open_storage(root), open_storage(root)]), batch_size=9)
say([loader.deterministic, sum(len(labels) for _, labels in loader)])
"""
    same, (both, one), by_pattern, prepared, (deterministic, count) = node.job(
        PRELUDE + script
    ).result()
    assert same == 45
    assert len(both) == 30
    assert one == [image for image in both if " b/" in image]
    assert by_pattern == 45
    assert prepared == 45
    assert deterministic
    assert count == 90


def test_a_key_names_the_dataset_and_not_what_is_done_to_it(node: Node) -> None:
    node.up()
    script = """
def one(sample): return sample[0][:8]
def other(sample): return sample[0][:4]
shapes = []
for step in (one, other):
    loader = joader.DataLoader(Squares(8), batch_size=4, prepare=[step], key="mine", as_numpy=True)
    reading = iter(loader)
    shapes.append(next(reading).shape)
say(shapes)
"""
    assert node.job(PRELUDE + script).result() == [[[4, 8, 16], [4, 4, 16]]]


def test_a_script_may_end_in_the_middle_of_a_pass_without_a_word(node: Node) -> None:
    node.up()
    job = node.job("""
import torch
loader = joader.DataLoader(Squares(100), batch_size=4)
reading = iter(loader)
next(reading)
""")
    _, error = job.process.communicate(timeout=60)
    assert (job.process.returncode, error) == (0, "")


def test_shards_that_are_in_both_lists_are_shared(node: Node) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for number in range(4):
        rows = list(range(10 * number, 10 * number + 10))
        parquet.write_table(arrow.table({"x": rows}), node.folder / f"{number}.parquet")
    node.up()
    script = f"""
paths = [f"{node.folder}/{{number}}.parquet" for number in range(4)]
read, prepared = together(open_storage(paths[:3]), open_storage(paths[1:][::-1]))
say([sorted(int(x) for batch in one for x in batch) for one in read])
say(prepared)
"""
    (one, other), prepared = node.job(PRELUDE + script).result()
    assert one == list(range(30))
    assert other == list(range(10, 40))
    assert prepared == 40


@pytest.mark.parametrize(
    ("kind", "shards"),
    [("storage", 3), pytest.param("dataset", 1, marks=pytest.mark.slow), ("dataset", 3)],
)
def test_choices_of_rows_of_a_hugging_face_dataset_share(
    node: Node, kind: str, shards: int
) -> None:
    pytest.importorskip("datasets")
    node.up()
    script = f"""
import datasets
datasets.disable_progress_bars()
made = datasets.Dataset.from_dict({{"a": list(range(60))}})
made.save_to_disk("{node.folder}/saved", num_shards={shards})
whole = datasets.load_from_disk("{node.folder}/saved")
choices = [whole.select(range(0, 40)), whole.select(range(25, 60)), whole.shuffle(seed=1),
           whole.select([59, 3, 3, 7]), whole.train_test_split(0.25, seed=0)["train"]]
if {kind == "storage"}:
    choices = list(map(open_storage, choices))
read, prepared = together(*choices, deterministic=True)
def column(things):
    return [thing["a"] if isinstance(thing, dict) else thing for thing in things]
say([sorted(int(x) for batch in column(one) for x in batch) for one in read])
say([sorted(map(int, column(map(one.__getitem__, range(len(one)))))) for one in choices])
say(prepared)
"""
    read, wanted, prepared = node.job(PRELUDE + script).result()
    assert read == wanted
    assert prepared == 60
    assert json.dumps(wanted[3]) == "[3, 3, 7, 59]"
