"""Object stores, against a server with the S3 API on the loopback."""

import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument, NoData, ReadFailed
from joader.storage import ImageFolder, Storage, TarShards, Values, open_storage, remote_files
from joader.storage.remote_files import RemoteFiles
from tests.storage.contract import ROWS, SCATTERED, StorageContract, body, in_a_fork
from tests.storage.test_tar import members, write_tar
from tests.trials import trials

obstore = pytest.importorskip("obstore", reason="object stores need obstore")
pytest.importorskip("moto.server", reason="a server with the S3 API needs moto[server]")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url)
        call("PUT", f"{url}/bucket")
        yield url
    finally:
        process.kill()
        process.wait()


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            call("GET", url)
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        else:
            return


def call(method: str, url: str, data: bytes | None = None) -> None:
    # Without a type of content it would be that of a form, which the server reads as one.
    headers = {"Content-Type": "application/octet-stream", "x-amz-acl": "public-read"}
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        answer.read()


class Bucket:
    """A part of a bucket of its own."""

    def __init__(self, server: str, prefix: str) -> None:
        self.server = server
        self.url = f"s3://bucket/{prefix}"
        self.web = f"{server}/bucket/{prefix}"

    def put(self, name: str, data: bytes) -> None:
        call("PUT", f"{self.web}/{name}", data)


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setenv("JOADER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ENDPOINT", server)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    return Bucket(server, f"{tmp_path.parent.name}-{tmp_path.name}")


class RemoteContract(StorageContract):
    package = "obstore"
    extra = "s3"
    effort = trials(4, 1)

    @pytest.fixture(autouse=True)
    def _bucket(self, bucket: Bucket) -> None:
        self.bucket, self.url = bucket, bucket.url

    def put(self, name: str, data: bytes) -> None:
        self.bucket.put(name, data)


class TestObjects(RemoteContract):
    def write(self, folder: Path) -> Any:
        for row in range(ROWS):
            self.put(f"{row:03}.bin", body(row))
        return self.url

    def change(self, folder: Path) -> Any:
        self.put("003.bin", body(4))
        return self.url

    def expected(self) -> dict[str, Values]:
        names = [f"{row:03}.bin" for row in range(ROWS)]
        return {"image": list(map(body, range(ROWS))), "path": names}

    def sample_columns(self) -> list[str]:
        return ["image"]

    def refused(self, folder: Path) -> list[Any]:
        return [f"{self.url}/nothing", f"{self.url}/nothing.tar"]

    def test_a_forked_child_lists_and_says_what_is_wrong_as_its_parent_does(
        self, folder: Path
    ) -> None:
        storage = self.open(self.write(folder))
        call("DELETE", f"{self.bucket.web}/002.bin")

        def look() -> None:
            with pytest.raises(NoData, match=r"002\.bin does not exist"):
                storage.read(range(5))
            assert len(self.open(self.url)) == ROWS - 1
            assert storage.fingerprint() == named

        named = storage.fingerprint()
        in_a_fork(look)
        in_a_fork(lambda: in_a_fork(look))
        look()

    def test_what_is_forked_after_a_look_reads_without_a_helper(self, folder: Path) -> None:
        self.open(self.write(folder))
        urls = [f"{self.bucket.web}/{row:03}.bin" for row in range(3)]
        script = (
            "import os, sys\n"
            "from joader.storage import open_storage, remote_files\n"
            "storage = open_storage(sys.argv[1:])\n"
            "storage.fingerprint()\n"
            "assert not remote_files._used_by\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    storage.read([0, 2])\n"
            "    os._exit(0 if remote_files._used_by == {os.getpid()} else 1)\n"
            "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        subprocess.run([sys.executable, "-c", script, *urls], check=True, timeout=60)

    def test_a_helper_that_was_killed_is_named_and_another_is_started(self, folder: Path) -> None:
        storage = self.open(self.write(folder))

        def look() -> None:
            self.check(storage, [1])
            helper = remote_files._reader.get()
            helper._process.kill()
            helper._process.wait()
            with pytest.raises(ReadFailed, match="which reads object stores for this forked one"):
                helper.call(storage.files, "stamps", ["000.bin"])
            self.check(storage, SCATTERED)

        in_a_fork(look)

    def test_an_object_that_was_changed_since_it_was_named_is_not_read(self, folder: Path) -> None:
        storage = self.open(self.write(folder))
        storage.fingerprint()
        self.check(storage, SCATTERED)
        self.put("003.bin", body(4))
        other = pickle.loads(pickle.dumps(storage.narrowed(["image"])))
        for one in (storage, other):
            with pytest.raises(ReadFailed, match=r"003\.bin was changed after it was listed"):
                one.read([2, 3])
            assert one.read([2])["image"] == [body(2)]
        storage.fingerprint()
        assert storage.read([3])["image"] == [body(4)]

    def test_an_object_that_is_gone_is_a_row_that_fails(self, folder: Path) -> None:
        self.write(folder)
        storage = open_storage([f"{self.url}/{name}" for name in ("000.bin", "no.bin", "001.bin")])
        storage.fingerprint()
        assert storage.read([0, 2])["image"] == [body(0), body(1)]
        with pytest.raises(NoData, match=r"no\.bin does not exist"):
            storage.read([1])

    def test_reads_are_under_way_together_at_most_so_many(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        storage = self.open(self.write(folder), in_flight=4)
        lock = threading.Lock()
        now, most = 0, 0
        whole = RemoteFiles._whole

        def counted(self: RemoteFiles, name: str) -> bytes:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.01)
            try:
                return whole(self, name)
            finally:
                with lock:
                    now -= 1

        monkeypatch.setattr(RemoteFiles, "_whole", counted)
        assert storage.read(range(16))["image"] == list(map(body, range(16)))
        assert most == 4

    def test_settings_travel_and_are_no_part_of_the_name(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        named = self.open(self.write(folder)).fingerprint()
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        settings = {
            "access_key_id": "other",
            "secret_access_key": "x",
            "endpoint": self.bucket.server,
            "region": "us-east-1",
        }
        storage = self.open(self.url, settings=settings)
        assert storage.fingerprint() == named
        self.check(storage, SCATTERED)

    def test_a_store_that_does_not_answer_is_named(self, folder: Path) -> None:
        settings = {
            "endpoint": "http://127.0.0.1:9",
            "retry_config": {"max_retries": 0},
        }
        with pytest.raises(ReadFailed, match="check that the store can be reached"):
            open_storage(self.url, settings=settings)

    def test_a_wrong_setting_is_named(self) -> None:
        with pytest.raises(BadArgument, match="cannot be opened with settings"):
            open_storage(self.url, settings={"nonsense": "1"})

    def test_an_object_that_is_gone_is_named(self, folder: Path) -> None:
        storage = self.open(self.write(folder))
        call("DELETE", f"{self.bucket.web}/002.bin")
        with pytest.raises(NoData, match=r"002\.bin does not exist"):
            storage.read(range(5))

    def test_what_is_not_read_from_stores_is_said(self) -> None:
        with pytest.raises(BadArgument, match="not parquet; copy it to a disk"):
            open_storage(f"{self.url}/a.parquet")
        with pytest.raises(BadArgument, match="settings are for object stores"):
            open_storage(str(Path(__file__).parent), kind="files", settings={"region": "a"})


class TestTarsInAStore(RemoteContract):
    def write(self, folder: Path) -> Any:
        self.put_tar(folder, "a-0.tar", range(25))
        self.put_tar(folder, "a-1.tar", range(25, ROWS))
        return f"{self.url}/a-{{0..1}}.tar"

    def put_tar(self, folder: Path, name: str, rows: range) -> None:
        write_tar(folder / name, members(rows))
        self.put(name, (folder / name).read_bytes())

    def change(self, folder: Path) -> Any:
        self.put_tar(folder, "a-1.tar", range(30, ROWS))
        return f"{self.url}/a-{{0..1}}.tar"

    def expected(self) -> dict[str, Values]:
        return {
            "jpg": list(map(body, range(ROWS))),
            "cls": np.arange(ROWS) % 7,
            "__key__": [f"s/{row:05}" for row in range(ROWS)],
        }

    def sample_columns(self) -> list[str]:
        return ["jpg", "cls"]

    def test_it_is_a_storage_of_tars(self, storage: Storage) -> None:
        assert isinstance(storage, TarShards)

    def test_a_tar_that_was_changed_since_it_was_opened_is_not_read(self, folder: Path) -> None:
        with self.open(self.write(folder)) as storage:
            self.check(storage, SCATTERED)
            self.put_tar(folder, "a-1.tar", range(24, ROWS - 1))
            with pytest.raises(ReadFailed, match=r"a-1\.tar was changed after it was listed"):
                storage.read([30])
            self.check(storage, [0, 24])


def test_objects_in_classes_are_an_image_folder(bucket: Bucket) -> None:
    for name in ("b/2.jpg", "b/1.jpg", "a/x/1.PNG", "a/notes.txt", "README.jpg"):
        bucket.put(name, name.encode())
    storage = open_storage(bucket.url, kind="folder")
    assert isinstance(storage, ImageFolder)
    assert storage.classes == ("a", "b")
    assert list(storage) == [(b"a/x/1.PNG", 0), (b"b/1.jpg", 1), (b"b/2.jpg", 1)]


def test_files_of_a_web_server_are_read(bucket: Bucket) -> None:
    for row in range(5):
        bucket.put(f"{row}.jpg", body(row))
    urls = [f"{bucket.web}/{row}.jpg" for row in (3, 0, 4)]
    storage = open_storage(urls, labels=[3, 0, 4])
    assert list(storage) == [(body(3), 3), (body(0), 0), (body(4), 4)]
    named = storage.fingerprint()
    bucket.put("3.jpg", b"other")
    assert storage.fingerprint() != named


def test_a_tar_on_a_web_server_is_read_in_parts(bucket: Bucket, tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", members(range(6)))
    bucket.put("a.tar", (tmp_path / "a.tar").read_bytes())
    assert list(open_storage(f"{bucket.web}/a.tar")) == [(body(row), row) for row in range(6)]


def test_a_web_server_has_no_list_of_files(bucket: Bucket) -> None:
    with pytest.raises(BadArgument, match="give the list of URLs"):
        open_storage(bucket.web)


def test_files_of_two_servers_are_refused(bucket: Bucket) -> None:
    with pytest.raises(BadArgument, match="files of 2 places"):
        open_storage([f"{bucket.web}/a.jpg", "http://elsewhere/b.jpg"])
