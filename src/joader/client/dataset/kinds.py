"""Which kind of dataset a job has, asked without loading what reads that kind.

Most jobs read datasets of their own, and need neither the catalog nor any storage. If the module
of a class is not loaded, no dataset can be of that class.
"""

import sys
from typing import Any

from joader.lazy import loaded_class


def is_table(dataset: Any) -> bool:
    """Tell whether this is a table of the catalog."""
    return isinstance(dataset, loaded_class("joader.catalog.table", "Table"))


def is_view(dataset: Any) -> bool:
    """Tell whether these are rows and columns of a table."""
    return isinstance(dataset, loaded_class("joader.catalog.view", "View"))


def is_table_rows(dataset: Any) -> bool:
    """Tell whether these are all rows of a table."""
    return isinstance(dataset, loaded_class("joader.catalog.rows", "TableRows"))


def is_of_files(dataset: Any) -> bool:
    """Tell whether this is a list of files, or several of them."""
    files = loaded_class("joader.storage.files", "FileList")
    several = loaded_class("joader.storage.concatenation", "Concatenation")
    return isinstance(dataset, files | several) and dataset.is_of_files


def is_of_hugging_face(dataset: Any) -> bool:
    """Tell whether this is a `Dataset` of the library `datasets`, not of a subclass."""
    module = sys.modules.get("datasets.arrow_dataset")
    return module is not None and type(dataset) is module.Dataset
