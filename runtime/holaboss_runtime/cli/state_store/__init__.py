"""`holaboss-state-store <operation> --request-base64 <json>`: the records of a runtime, for programs.

It opens the database itself, beside a server or without one, and takes every step through the store, so that the rules
of the queue hold for it too. It starts no run. One module per family of operations, one table of all of them.
"""

from __future__ import annotations

from holaboss_runtime.cli.state_store.program import main

__all__ = ["main"]
