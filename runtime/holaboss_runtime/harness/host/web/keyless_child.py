"""The throw-away process of a search without a key: one question in, one JSON line out."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

REQUEST_S = 8


def main() -> int:
    """Answer the question on standard input with `{"results": …}`, `{"nothing": true}` or `{"problem": …}`."""
    logging.disable(logging.CRITICAL)
    question: dict[str, Any] = json.load(sys.stdin)
    os.environ.pop("DDGS_PROXY", None)
    from ddgs import DDGS  # pyright: ignore[reportUnknownVariableType]
    from ddgs.exceptions import DDGSException

    try:
        found = DDGS(timeout=REQUEST_S).text(question["query"], max_results=question["count"])
        answer: dict[str, Any] = {"results": found}
    except DDGSException as error:
        nothing = "No results found" in str(error)
        answer = {"nothing": True} if nothing else {"problem": type(error).__name__}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0
