"""A project that is run as `python -m package.train`."""
