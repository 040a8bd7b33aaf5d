"""The HTTP face of the runtime: routes, the gate in front of them, and errors as problem details.

It deliberately holds no logic: a route parses, calls and serialises.
"""
