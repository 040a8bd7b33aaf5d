"""The frozen desktop starts here; `python -m holaboss_app` is the same program from source."""

from __future__ import annotations

import sys

from holaboss_app.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
