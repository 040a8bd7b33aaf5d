"""The harness host: a child process with the agent loop, its tools and its model clients.

It is driven by frames on its standard streams and knows no database, no session and no HTTP server of ours.
"""
