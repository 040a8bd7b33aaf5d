"""Benches: our figures beside the floor of the same run. Not part of the test suite."""
