"""Storages as datasets of real jobs."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from tests.processes.conftest import Node

PIL = pytest.importorskip("PIL.Image", reason="pictures are made by Pillow")
ROWS = 24

JOB = """
from joader.images import Decode
from joader.storage import open_storage

storage = open_storage(sys.argv[1])
loader = joader.DataLoader(storage, batch_size=4, shuffle=True, prepare=[Decode()])
rows = []
batches = iter(loader)
say("ready")
sys.stdin.readline()
for images, labels in batches:
    for image, label in zip(images, labels.tolist()):
        assert image.shape == (8, 8, 3)
        rows.append((label, int(image[0, 0, 0])))
stats = loader.stats()
say(sorted(rows))
say([stats.delivered, stats.prepared, stats.shared])
"""


def picture(row: int) -> bytes:
    file = io.BytesIO()
    PIL.fromarray(np.full((8, 8, 3), row * 10, np.uint8)).save(file, "PNG")
    return file.getvalue()


def write_folder(folder: Path) -> Path:
    for row in range(ROWS):
        (folder / f"c{row:02}").mkdir(parents=True)
        (folder / f"c{row:02}" / "x.png").write_bytes(picture(row))
    return folder


def write_tar(path: Path) -> Path:
    with tarfile.open(path, "w") as tar:
        for row in range(ROWS):
            for name, data in ((f"{row}.cls", b"%d" % row), (f"{row}.png", picture(row))):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("kind", ["folder", "tar"])
def test_two_jobs_on_one_storage_prepare_each_row_once(
    node: Node, kind: str, tmp_path: Path
) -> None:
    write = write_folder if kind == "folder" else write_tar
    path = write(tmp_path / ("data" if kind == "folder" else "data.tar"))
    node.up()
    cache = str(tmp_path / "cache")
    jobs = [node.job(JOB, str(path), JOADER_CACHE=cache) for _ in range(2)]
    for job in jobs:
        assert job.line() == "ready"
    for job in jobs:
        job.say("go")
    results = [job.result() for job in jobs]
    for rows, (delivered, _, _) in results:
        assert rows == [[row, row * 10] for row in range(ROWS)]
        assert delivered == ROWS
    assert sum(prepared for _, (_, prepared, _) in results) == ROWS


SUBSETS = """
from torch.utils.data import Subset
from joader.images import Decode
from joader.storage import open_storage

storage = open_storage(sys.argv[1])
first = joader.DataLoader(Subset(storage, range(16)), batch_size=4, prepare=[Decode()])
second = joader.DataLoader(Subset(storage, range(8, 24)), batch_size=4, prepare=[Decode()])
one, two = iter(first), iter(second)
labels = [batch[1].tolist() for batch in two] + [batch[1].tolist() for batch in one]
say(sorted(sum(labels, [])))
say([first.stats().prepared + second.stats().prepared])
"""


def test_subsets_of_a_storage_share_their_common_rows(node: Node, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    node.up()
    labels, (prepared,) = node.job(SUBSETS, str(write_folder(tmp_path / "data"))).result()
    assert labels == sorted([*range(16), *range(8, 24)])
    assert prepared == 24


TWO_PASSES = """
from joader.images import Decode
from joader.storage import open_storage

storage = open_storage(sys.argv[1])
loader = joader.DataLoader(storage, batch_size=4, shuffle=True, prepare=[Decode()])
for _ in range(2):
    for _ in loader:
        pass
say([loader.deterministic, loader.stats().prepared, loader.stats().delivered])
"""


def test_rows_of_a_storage_are_kept_for_the_next_epoch(node: Node, tmp_path: Path) -> None:
    node.up()
    (found,) = node.job(TWO_PASSES, str(write_folder(tmp_path / "data"))).result()
    assert found == [True, ROWS, 2 * ROWS]
