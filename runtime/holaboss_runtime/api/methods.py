"""Which methods an address takes, whichever routes serve them: what `Allow` has to say."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi.routing import APIRoute


def allowed_methods(routes: Iterable[APIRoute], path: str) -> str:
    """The framework would name those of the first route of this address only."""
    fitting = [route for route in routes if route.path_regex.match(path)]
    # An address that is written out is not also meant as the id of something.
    meant = [route for route in fitting if route.path == path] or fitting
    return ", ".join(sorted({method for route in meant for method in route.methods or ()}))
