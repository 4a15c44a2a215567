"""Storages as datasets of real jobs."""

import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


@pytest.mark.parametrize("kind", [pytest.param("folder", marks=pytest.mark.slow), "tar"])
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


class FarAway(BaseHTTPRequestHandler):
    """A web server with pictures that lets rows wait for each other, and counts them."""

    change = threading.Condition()
    waiting = most = 0

    def do_HEAD(self) -> None:
        self.answer(self.picture(), head_only=True)

    def picture(self) -> bytes:
        return picture(int(self.path.strip("/").partition(".")[0]))

    def do_GET(self) -> None:
        with self.change:
            FarAway.waiting += 1
            FarAway.most = max(self.most, self.waiting)
            self.change.notify_all()
            self.change.wait_for(lambda: self.most > 2, 2.0)  # the first row comes alone
            FarAway.waiting -= 1
        self.answer(self.picture())

    def answer(self, body: bytes, *, head_only: bool = False) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Sun, 15 Nov 2026 12:00:00 GMT")
        self.end_headers()
        if not head_only:
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Be quiet."""


REMOTE = """
from joader.images import Decode
from joader.storage import open_storage

urls = [f"{sys.argv[1]}/{row}.png" for row in range(24)]
storage = open_storage(urls, labels=list(range(24)))
loader = joader.DataLoader(storage, batch_size=4, shuffle=True, prepare=[Decode()])
say(sorted((label, int(image[0, 0, 0])) for images, labels in loader
           for image, label in zip(images, labels.tolist())))
"""


def test_a_worker_reads_ahead_where_reading_waits_for_a_network(node: Node) -> None:
    pytest.importorskip("obstore", reason="object stores need obstore")
    server = ThreadingHTTPServer(("127.0.0.1", 0), FarAway)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    node.up(workers=1)
    (rows,) = node.job(REMOTE, f"http://127.0.0.1:{server.server_port}").result()
    server.shutdown()
    server.server_close()
    assert rows == [[row, row * 10] for row in range(ROWS)]
    assert FarAway.most > 2  # by one worker with one thread


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


SKIPS = """
from joader.storage import open_storage

loader = joader.DataLoader(open_storage(sys.argv[1]), batch_size=5, shuffle=True, on_error="skip")
labels = sorted(label for _, some in loader for label in some.tolist())
say(labels)
say(loader.stats().skipped)
try:
    for batch in joader.DataLoader(open_storage(sys.argv[1]), batch_size=5): pass
except joader.errors.JoaderError as error:
    say(str(error))
"""


def test_a_dangling_link_costs_its_row_alone(node: Node) -> None:
    folder = write_folder(node.folder / "data")
    (folder / "c05" / "x.png").unlink()
    (folder / "c05" / "x.png").symlink_to(node.folder / "gone.png")
    node.up()
    labels, skipped, said = node.job(SKIPS, str(folder)).result()
    assert labels == [label for label in range(ROWS) if label != 5]
    assert skipped == 1
    assert "c05/x.png cannot be read: No such file" in said


NAMES = """
from joader.images import Decode
from joader.storage import open_storage

storage = open_storage(sys.argv[1])
try:
    for batch in joader.DataLoader(storage, batch_size=5, prepare=[Decode()]): pass
except joader.errors.BadImage as error:
    say(str(error))
"""


def test_a_bad_picture_of_a_folder_is_named_by_its_path(node: Node) -> None:
    folder = write_folder(node.folder / "data")
    (folder / "c07" / "x.png").write_bytes(picture(7)[:-30])
    node.up()
    (said,) = node.job(NAMES, str(folder)).result()
    assert f"in {folder}/c07/x.png cannot be decoded" in said
