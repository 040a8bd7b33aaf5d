"""The Holaboss runtime: does the work of every workspace, behind a local HTTP API.

ARCHITECTURE.md describes its rooms.
"""
