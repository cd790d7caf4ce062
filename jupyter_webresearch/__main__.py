"""``python -m jupyter_webresearch``: the command line, where ``jupyter`` is not on the path."""

from __future__ import annotations

import sys

from jupyter_webresearch.cli import main

if __name__ == "__main__":
    sys.exit(main())
