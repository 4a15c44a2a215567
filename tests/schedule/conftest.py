"""A floor for each test."""

import pytest

from tests.schedule.floor import Floor


@pytest.fixture
def floor() -> Floor:
    return Floor()
