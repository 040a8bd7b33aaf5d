"""The toy's program: plays a script from its input, a line at a time. It imports nothing of the product.

First line in: JSON with `memory` and `script`. Lines of a script: `say …`, `call NAME JSON`, `fail …`, `stall`.
Lines out: `say …`, `call NAME JSON`, `fail …`, and at the end `memory JSON`. After a call one line comes in:
`result JSON` or `hold`.
"""

import json
import sys


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    given = json.loads(sys.stdin.readline())
    memory = given["memory"]
    for line in given["script"]:
        word, _, rest = line.partition(" ")
        if word == "stall":
            sys.stdin.readline()
            return
        tell(line)
        if word == "fail":
            return
        if word == "call":
            reply = sys.stdin.readline()
            if not reply.startswith("result "):
                break
            memory.append(json.loads(reply.removeprefix("result ")))
        else:
            memory.append(rest)
    tell("memory " + json.dumps(memory))


main()
