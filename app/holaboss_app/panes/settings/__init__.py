"""The settings page: model providers and their keys, appearance, where data lives, and what this program is.

It shows what the runtime and the keychain report and hands changes to them. It never writes a configuration
file, and never shows a stored key.
"""
