"""`python -m holaboss_app`, and the entry point of the installed and the frozen program."""

from __future__ import annotations

import sys


def main() -> int:
    from holaboss_app.application import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
