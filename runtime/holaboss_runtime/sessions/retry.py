"""When a failed run is tried again by itself. The only place that decides it; SDK retries are off."""

from __future__ import annotations

import random
from typing import Any

from holaboss_runtime.runs.profile import Backoff

DEFAULT = Backoff()
MAX_RETRIES = 3
_GROWTH = 3.0
_LONGEST_WAIT_S = 300.0


def retry_delay(
    failure: dict[str, Any], *, attempt: int, progressed: bool, backoff: Backoff = DEFAULT
) -> float | None:
    """Seconds to wait before the next attempt, or None to give up.

    `failure` is the payload of RUN_FAILED, `attempt` counts the attempts before this one. A run that said or did
    anything is not repeated. What the provider asks for (`retry_after_s`) is respected, and when it asks for more than
    five minutes, a person should know instead.
    """
    if progressed or attempt >= MAX_RETRIES or not failure.get("retryable"):
        return None
    asked = failure.get("retry_after_s")
    if isinstance(asked, int | float) and asked >= 0:
        return asked * random.uniform(1.0, 1.1) if asked <= _LONGEST_WAIT_S else None
    return min(backoff.first_s * _GROWTH**attempt, backoff.longest_s) * random.uniform(0.75, 1.25)
