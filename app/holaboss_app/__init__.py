"""The Holaboss desktop: a window over a runtime server that it starts and supervises. See ARCHITECTURE.md."""
