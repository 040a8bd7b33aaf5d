"""`holaboss-runtime openapi`: the description of the HTTP interface, as it is kept in `docs/openapi.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def write_openapi(target: str | None = None) -> int:
    """Write to a file, or to stdout without one; 1 when the file cannot be written."""
    from holaboss_runtime.api.app import build_routes
    from holaboss_runtime.api.description import describe

    text = json.dumps(describe(build_routes()), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if target is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(target).write_text(text, "utf-8")
    except OSError as error:
        print(f"{target} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0
