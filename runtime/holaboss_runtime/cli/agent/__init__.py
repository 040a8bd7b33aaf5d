"""`holaboss agent …` and `openboa agent …`: agents and their sessions from a shell or a script, without a desktop.

Exit codes:

- 0: done; also a wake that had nothing to do, or that now waits for a decision
- 1: refused, or not found; stderr says why and what to do
- 2: a run failed, or needs a key that is not here; also a command line that makes no sense
- 130: stopped by a signal

Human text goes to stdout by default, one JSON document with `--json`; remarks go to stderr. A command works beside a
running server (which then runs everything) and without one (then the command runs it, and ends what it started).
"""
