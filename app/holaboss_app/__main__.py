"""`python -m holaboss_app`, and the entry point of the installed and the frozen program.

`holaboss agent …` is the runtime's: it is handed to that program before anything of a window is loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys

from holaboss_app.services.runtime_launch import COMMANDS, command_environment, runtime_command


def main() -> int:
    words = sys.argv[1:]
    if words and words[0] in COMMANDS:
        return _hand_over(words)
    from holaboss_app.application import main as run

    return run(words)


def _hand_over(words: list[str]) -> int:
    command, environment = runtime_command(*words), command_environment(os.environ)
    if sys.platform != "win32":
        os.execvpe(command[0], command, environment)
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
