"""The one program of the runtime, `holaboss-runtime`: the server and every child it starts are sub-commands.

Each imports only what it needs: a child must not pay for a server, nor a server for an agent.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

USAGE = """\
usage: holaboss-runtime [serve | openapi [FILE] | agent … | state-store … | --version]

  serve        run the server (also without any argument); see README.md for its environment variables
  openapi      write the description of its HTTP interface to FILE or stdout
  agent        agents and their sessions, also installed as `holaboss agent` and `openboa agent`
  state-store  one operation on the database, also installed as `holaboss-state-store`
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status. 2 for a command line that makes no sense and for a server that cannot start."""
    command, *rest = (list(sys.argv[1:] if argv is None else argv)) or ["serve"]
    if (status := _child(command, rest)) is not None:
        return status
    match command, rest:
        case "serve", []:
            gc.disable()  # until it listens: looking for garbage among what is being loaded finds none
            from holaboss_runtime.server import serve

            return serve()
        case "openapi", [] | [_]:
            from holaboss_runtime.cli.openapi import write_openapi

            return write_openapi(*rest)
        case (("agent" | "state-store"), _):
            from holaboss_runtime.cli.main import holaboss

            return holaboss([command, *rest])
        case (("--version" | "-V"), []):
            from holaboss_client import PRODUCT_VERSION

            sys.stdout.write(f"holaboss-runtime {PRODUCT_VERSION}\n")
            return 0
        case (("--help" | "-h"), _):
            sys.stdout.write(USAGE)
            return 0
        case _:
            sys.stderr.write(USAGE)
            return 2


def _child(command: str, rest: list[str]) -> int | None:
    """What this program starts itself, and nobody else: they talk over their standard streams."""
    match command, rest:
        case "harness-host", []:
            from holaboss_runtime.harness.host.main import main as host

            return host() or 0
        case "tool-helper", [name]:
            from holaboss_runtime.harness.host.throwaway_main import main as tool_helper

            return tool_helper(name)
        case "parse-document", [kind]:
            from holaboss_runtime.workspace.documents.child import main as parse_document

            return parse_document(kind)
        case "demo-provider", []:
            from holaboss_runtime.demo_provider.main import main as demo_provider

            return demo_provider() or 0
        case "doorway", [_, _, *_]:
            from holaboss_runtime.containment.doorway import main as doorway

            return doorway(rest)
        case _:
            return None


if __name__ == "__main__":
    sys.exit(main())
