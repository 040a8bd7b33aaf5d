"""The wire contract of the Holaboss runtime: typed messages, an HTTP client and a resuming event stream.

It is all a program needs to drive a runtime, and all that desktop and runtime share. It deliberately knows no
database, no workspace file and no user interface, and imports nothing but httpx and pydantic.
"""

from __future__ import annotations

import sys
from typing import cast

# httpx loads its own command line with itself, and that loads all of click, Pygments and rich: 5 MB and 60 ms that no
# program of ours has a use for. It copes with a command line that cannot be imported.
cast("dict[str, object]", sys.modules).setdefault("httpx._main", None)

PROTOCOL_VERSION = "1.0"
PRODUCT_VERSION = "0.1.0"
