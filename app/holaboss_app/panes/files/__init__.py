"""The files of a workspace: a tree that follows what agents do, and a plain editor for text.

It reads and writes through the runtime only; it never touches the disk and never follows a link out of a
workspace.
"""
