"""`python -m joader`: the `joader` command, where it is not on the path."""

import sys

from joader.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
