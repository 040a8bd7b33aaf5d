"""What goes wrong with the web, as a sentence for the model. This room knows no tool."""

from __future__ import annotations


class WebError(Exception):
    """Something of the web could not be had; the message goes to the model and holds no key."""
