"""The demo model: a small scripted server that speaks the OpenAI chat protocol, so that anyone can see the
product without a key.

It is no model and says so in its answers. It calls tools by their public names, keeps no state, reaches no
network, and imports nothing else of the runtime.
"""
