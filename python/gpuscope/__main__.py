"""`python -m gpuscope` is the command line."""

from __future__ import annotations

import sys

from gpuscope._native import main

if __name__ == "__main__":
    sys.exit(main())
