"""Libraries are imported when they are needed, and a missing one is named."""

import subprocess
import sys
from pathlib import Path

import pytest

from joader.errors import MissingExtra
from joader.images import libraries


def test_importing_the_room_imports_none_of_them() -> None:
    script = "import sys, joader.images; print(*{'torch', 'PIL', 'simplejpeg'} & set(sys.modules))"
    printed = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert printed.split() == []


def test_what_cannot_be_imported_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert libraries._imported("joader_has_no_such_module") is None
    (tmp_path / "broken_joader_codec.py").write_text("raise ValueError('built for another NumPy')")
    monkeypatch.syspath_prepend(tmp_path)
    assert libraries._imported("broken_joader_codec") is None
    with pytest.raises(MissingExtra, match=r"imported here: built for another.*\.\[images\]"):
        libraries._missing("this needs it", "broken_joader_codec", "images")


def test_a_missing_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "torch", lambda: None)
    with pytest.raises(MissingExtra, match=r"a batch step needs torch.*\.\[torch\]"):
        libraries.needed_torch("a batch step")


def test_warming_up_imports_what_is_installed() -> None:
    libraries.warm_up()
    assert "PIL.Image" in sys.modules
    assert (libraries.loaded_torch() is None) == (libraries.torch() is None)


def test_a_module_that_is_being_imported_is_not_loaded_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    class Half:
        class __spec__:  # noqa: N801
            _initializing = True

    monkeypatch.setitem(sys.modules, "torch", Half)  # type: ignore[arg-type]
    assert libraries.loaded_torch() is None
