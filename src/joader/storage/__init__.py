"""Raw bytes by row, wherever they are: folders, tars, Parquet, Arrow, LMDB, NumPy, object stores.

One contract (`storage`), one file per kind, one test suite that every kind inherits. Importing this
loads no optional package.

Reading order: `storage` (the contract), `opening` (which kind), then the kinds: `files`, `folder`,
`tar` (with `tar_index`, `tar_members`), `parquet` and `arrow` (with `chunked`, `arrow_values`),
`hugging_face` (with `upright`), `lmdb`, `arrays`, `dataset`, `concatenation`. Also: `places` (local
files, `local_files`, or those in an object store, `remote_files`), `in_flight` (concurrent reads),
`expected` (reads begun ahead of time), `per_process` and `remote_reader` (what a forked process has
to open again), `names`, `packages`, `origins` (paths for messages).

Not here: decoding (images), tables with names and versions (catalog).
"""

from joader.storage.arrays import Arrays
from joader.storage.arrow import ArrowFiles
from joader.storage.dataset import DatasetStorage
from joader.storage.files import FileList
from joader.storage.folder import ImageFolder
from joader.storage.hugging_face import HuggingFace
from joader.storage.in_flight import InFlight
from joader.storage.lmdb import Lmdb
from joader.storage.opening import KINDS, open_storage
from joader.storage.parquet import ParquetFiles
from joader.storage.storage import Storage, Values
from joader.storage.tar import TarShards

__all__ = [
    "KINDS",
    "Arrays",
    "ArrowFiles",
    "DatasetStorage",
    "FileList",
    "HuggingFace",
    "ImageFolder",
    "InFlight",
    "Lmdb",
    "ParquetFiles",
    "Storage",
    "TarShards",
    "Values",
    "open_storage",
]
