"""MCP servers that misbehave on purpose, and where the real ones are installed."""
