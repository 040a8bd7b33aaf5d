"""The Holaboss runtime: does the work of every workspace, behind a local HTTP API. See ARCHITECTURE.md for its rooms."""
