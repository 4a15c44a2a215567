"""Hugging Face datasets, saved and open."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joader.errors import BadArgument, BadData
from joader.storage import Storage, Values, open_storage
from tests.storage.arrow_contract import ArrowContract, table
from tests.storage.contract import ROWS

pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow need pyarrow")


class HuggingFaceContract(ArrowContract):
    @pytest.fixture(autouse=True)
    def _datasets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        self.datasets = pytest.importorskip(
            "datasets", reason="saving Hugging Face datasets needs datasets"
        )
        self.datasets.disable_progress_bars()

    def expected(self) -> dict[str, Values]:
        # The library has no dictionaries.
        return {name: one for name, one in super().expected().items() if name != "class"}

    def saved(self, folder: Path, rows: int = 100) -> Any:
        repeated = pa.concat_tables([table()] * 3).drop_columns(["class"]).slice(0, rows)
        self.datasets.Dataset(repeated).save_to_disk(str(folder), num_shards=3)
        return self.datasets.load_from_disk(str(folder))

    def test_columns_have_the_types_of_their_values(self, storage: Storage) -> None:
        assert storage.columns["image"] == storage.columns["photo"] == "bytes"


class TestSavedDataset(HuggingFaceContract):
    def write(self, folder: Path) -> Any:
        self.saved(folder, ROWS)
        return str(folder)

    def change(self, folder: Path) -> Any:
        (folder / "state.json").unlink()
        self.saved(folder, 70)
        return str(folder)

    def test_rows_that_were_selected_before_saving_are_those_saved(self, folder: Path) -> None:
        chosen = self.saved(folder / "all").select([41, 5, 3]).shuffle(seed=1)
        chosen.save_to_disk(str(folder / "few"))
        found = open_storage(folder / "few").read([0, 1, 2], ["name"])["name"]
        assert found == chosen["name"][:]

    def test_a_folder_of_splits_names_them(self, folder: Path) -> None:
        splits = self.datasets.DatasetDict({"train": self.saved(folder / "x")})
        splits.save_to_disk(str(folder / "all"))
        with pytest.raises(BadArgument, match=r"open one of them: .*all/train"):
            open_storage(folder / "all")

    def test_a_damaged_state_is_refused(self, folder: Path) -> None:
        self.write(folder)
        (folder / "state.json").write_text("{}")
        with pytest.raises(BadData, match="save_to_disk"):
            open_storage(folder)


class TestOpenDataset(HuggingFaceContract):
    """An open dataset whose rows were selected, in an order of their own."""

    def write(self, folder: Path) -> Any:
        order = np.random.default_rng(0).permutation(ROWS)
        back = np.argsort(order)
        return self.saved(folder).select(order).select(back)

    def change(self, folder: Path) -> Any:
        return self.datasets.load_from_disk(str(folder)).select(range(ROWS)[::-1])

    def test_a_missing_package_is_named(self, folder: Any, monkeypatch: Any) -> None:
        """Cannot be: the dataset is there."""

    def test_a_format_is_refused_as_it_would_not_be_applied(self, folder: Path) -> None:
        with pytest.raises(BadArgument, match=r"has the format 'numpy'.*with_format\(None\)"):
            open_storage(self.saved(folder).with_format("numpy"))

    def test_a_dataset_in_memory_is_read_too(self) -> None:
        dataset = self.datasets.Dataset.from_dict({"a": [1, 2, 3]}).select([2, 0])
        assert list(open_storage(dataset)) == [3, 1]
