"""`python -m holaboss_runtime.cli.state_store`, for where the command is not installed."""

from __future__ import annotations

import sys

from holaboss_runtime.cli.state_store.program import main

sys.exit(main())
