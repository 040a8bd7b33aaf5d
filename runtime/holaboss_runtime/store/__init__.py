"""The durable state of the runtime: one SQLite file, `runtime.db`, and one module per family of records in it.

It deliberately knows no HTTP and no workspace files. Only this room contains SQL.
"""
