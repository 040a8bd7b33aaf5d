"""Terminals: programs that go on beside runs, each on a pseudo-terminal, held like every other command.

Knows no session beyond its id, no route and no model.
"""
