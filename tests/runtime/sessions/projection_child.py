"""A process that writes to two sessions and their files until it is killed: started by the projection tests."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.agent_files import AgentFiles


def main(root: Path, first: str, second: str) -> None:
    with AgentFiles(root) as kept:
        while True:
            for session in (first, second):
                kept.answer(session, kept.say(session, "question " + "x" * 300), "answer " + "y" * 3000)
            kept.projector.flush_now()
            print("flushed", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
