"""Fixed seeds: `make test` runs the same examples every time, `make test-all` new ones."""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
