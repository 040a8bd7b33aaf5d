"""The configuration of the runtime: `runtime-config.json`, the provider catalogue, keys in memory, model
resolution.

It deliberately knows no session, and never writes a key that a keychain holds.
"""
