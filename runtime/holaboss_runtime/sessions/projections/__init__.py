"""The files of the agent layer: written from the database, read into it, mended and rebuilt.

`runtime.db` is the truth. What lies under `.openboa/agents` follows it through an outbox, so that a person, a script
or another program can read a session as files.
"""
