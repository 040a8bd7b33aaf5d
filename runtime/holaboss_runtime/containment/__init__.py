"""Holding a command: what it sees, what it may write, which network it reaches, and how that is enforced here.

Knows no tool, no session and no workspace but the folder it is given.
"""
