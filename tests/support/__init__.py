"""Real parts for tests and benches: a scripted model provider, a runtime process, strictness.

Nothing here is a mock, and nothing here imports Qt.
"""
