"""One run, from what a person asked to what the harness may see and what the turn left behind.

Compiles the workspace, assembles the prompt, takes the request snapshot and folds the events of a run into a
turn. It deliberately knows no queue, no lease and no session status: when a run starts and how it is committed
is decided in `sessions/`.
"""
