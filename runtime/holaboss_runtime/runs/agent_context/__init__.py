"""What the model of an agent session is told at one wake: the prompt profile `session`.

`build.build_context` turns plain inputs into prompt sections and the newest user message, and keeps every part within
the model's window. It deliberately reads nothing itself: no file, no row, no clock.
"""
