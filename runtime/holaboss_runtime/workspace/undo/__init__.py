"""Undo of what a turn did to the files of a workspace, with nothing but a folder beside them.

`recording` (used by whoever runs tools) keeps what a turn touched, `moving` takes it back and brings it again,
`service` is for clients. Everything lies in `.holaboss/undo`: contents by digest, one manifest for each turn. No git is
needed, and nothing outside the workspace, behind a link or in a repository is ever read or written.
"""
