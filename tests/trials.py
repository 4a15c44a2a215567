"""How many examples Hypothesis tries: all with `make test-all`, a part of them with `make test`."""

from hypothesis import settings


def trials(all_of_them: int, few: int) -> int:
    """Return how many a test shall try; the profile is set in conftest.py."""
    return few if settings.get_current_profile_name() == "fixed" else all_of_them
