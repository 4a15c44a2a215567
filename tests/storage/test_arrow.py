"""Arrow files, and streams in files."""

from pathlib import Path
from typing import Any

import pytest

from tests.storage.arrow_contract import ArrowContract, table
from tests.storage.contract import ROWS

pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow need pyarrow")


class TestArrowFile(ArrowContract):
    def write(self, folder: Path) -> Any:
        self.write_file(folder / "a.arrow", 0, 27, pa.ipc.new_file)
        self.write_file(folder / "b.arrow", 27, ROWS, pa.ipc.new_stream)
        return [folder / "a.arrow", folder / "b.arrow"]

    def write_file(self, path: Path, first: int, last: int, kind: Any) -> None:
        rows = table(first, last)
        with pa.OSFile(str(path), "wb") as file, kind(file, rows.schema) as out:
            out.write_table(rows, max_chunksize=6)

    def change(self, folder: Path) -> Any:
        self.write_file(folder / "b.arrow", 20, ROWS, pa.ipc.new_stream)
        return [folder / "a.arrow", folder / "b.arrow"]

    def refused(self, folder: Path) -> list[Any]:
        self.write_file(folder / "a.arrow", 0, 0, pa.ipc.new_file)
        return [folder / "a.arrow", folder / "b.arrow", [folder / "nowhere.arrow"]]
