"""What the desktop needs from outside a window: the runtime child, the keychain, its own files.

Nothing here draws; widgets never reach around it.
"""
