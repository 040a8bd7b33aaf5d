"""The disk contract of a workspace: where it lies, what is in it, and what may be read or written there.

It deliberately knows no session and no model.
"""
