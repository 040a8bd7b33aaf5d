"""Whole-product tests: the real window, the real runtime, a real keychain, a real provider on the wire."""
