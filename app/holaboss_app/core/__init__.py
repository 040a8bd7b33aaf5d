"""What the desktop knows without a window: no Qt, no HTTP, no disk. Everything here is plain data and pure
logic."""
