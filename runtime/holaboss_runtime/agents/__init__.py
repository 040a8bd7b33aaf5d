"""The agent layer on disk and in words: definitions, environments, the tree under `.openboa`, substrate, resources.

It deliberately runs nothing, knows no queue and no prompt order: it says who an agent is and what a session of it may
reach, and refuses what cannot be said safely.
"""
