"""The frozen runtime and every child of it start here, each as a sub-command."""

from __future__ import annotations

import sys

from holaboss_runtime.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
