"""A second executor behind the seam, different from the native one on purpose.

A process for each run instead of a warm pool, lines of text instead of frames, a script in the instruction instead of a
model, a memory that is one list of sentences, two tools of its own, no skills and no MCP servers.
"""
