"""A notebook: classes in cells, defined anew, patched; a loop that is interrupted."""

import sys

import nbformat
from loaders import run
from nbclient import NotebookClient

CELLS = (
    """
import functools
import torch
from torch.utils.data import Dataset
from {module} import DataLoader
""",
    """
scale = 1

@functools.lru_cache
def load(row):
    return row

class Item:
    def __init__(self, row):
        self.row = row

class Rows(Dataset):
    @functools.cached_property
    def values(self):
        return list(range(6))
    def __len__(self):
        return 6
    def __getitem__(self, row):
        return scale * (load(row) + self.values[0])

rows = Rows()
print(rows[1])
loader = DataLoader(rows, batch_size=4, num_workers=2)
print([batch.tolist() for batch in loader])
""",
    """
scale = 10
print([batch.tolist() for batch in loader])
""",
    """
class Rows(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, row):
        return -row
print([batch.tolist() for batch in DataLoader(Rows(), batch_size=4, num_workers=2)])
Rows.__getitem__ = lambda self, row: row + 1000
print([batch.tolist() for batch in DataLoader(Rows(), batch_size=4, num_workers=2)])
""",
    """
class Items(Rows):
    def __getitem__(self, row):
        return Item(row)
for batch in DataLoader(Items(), batch_size=3, collate_fn=lambda items: items, num_workers=2):
    print([type(item) is Item for item in batch], [item.row for item in batch])
""",
    """
try:
    for batch in loader:
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
print(sum(len(batch) for batch in loader))
%time print(len(list(loader)))
""",
)


def main(DataLoader):
    module = DataLoader.__module__.partition(".")[0]
    module = "torch.utils.data" if module == "torch" else module
    cells = [nbformat.v4.new_code_cell(text.replace("{module}", module)) for text in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    try:
        NotebookClient(notebook, timeout=60, allow_errors=True).execute()
    finally:
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                if output.output_type == "error":
                    print("error", output.ename)
                    print(output.evalue, file=sys.stderr)
                elif output.get("name") == "stdout":
                    lines = output.text.splitlines()
                    print(*(x for x in lines if "time" not in x and "CPU" not in x), sep="\n")


if __name__ == "__main__":
    run(main)
