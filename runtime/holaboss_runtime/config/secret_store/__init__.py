"""Secrets the runtime obtains itself or keeps for MCP servers: where they live, and their way into a keychain.

Provider keys are not here; they are the configuration's own (`config.keys`).
"""
