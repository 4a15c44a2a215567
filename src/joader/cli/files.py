"""Files that commands write: whether they can be written is checked before the work, not after."""

from pathlib import Path
from typing import TYPE_CHECKING

from joader.errors import BadArgument

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_writable(path: str) -> None:
    """Raise BadArgument if the file cannot be written; create its folder, leave no file behind."""
    target = Path(path)
    new = not target.exists()
    if not new and not (target.is_file() or target.is_dir()):
        return  # a pipe or device: opening and closing it could end its reader
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab"):
            pass
        if new:
            target.unlink()
    except OSError as error:
        raise cannot_write(path, error) from error


def write_text(path: str, text: str) -> None:
    """Write a file, making its folder."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    except OSError as error:
        raise cannot_write(path, error) from error


def save_figure(canvas: "Figure", path: str) -> None:
    """Write a drawing, making its folder; equal drawings give equal files."""
    metadata = {"Date": None} if path.lower().endswith("svg") else None
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path, dpi=200, metadata=metadata)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: str, error: OSError) -> BadArgument:
    """Return the error for a file that cannot be written."""
    return BadArgument(f"cannot write {path!r}: {error.strerror or error}; choose another file")
