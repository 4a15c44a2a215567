"""Optional packages."""

import pytest

from joader.errors import MissingExtra
from joader.storage.packages import needed


def test_a_package_that_is_here_is_imported() -> None:
    assert needed("os.path", "a path", "none").sep == "/"


def test_a_missing_one_is_named_with_what_needs_it_and_how_to_get_it() -> None:
    with pytest.raises(MissingExtra) as caught:
        needed("no_such_package.part", "a Zarr file", "zarr")
    assert str(caught.value).startswith("a Zarr file needs no_such_package, which cannot be")
    assert "pip install '.[zarr]'" in str(caught.value)
