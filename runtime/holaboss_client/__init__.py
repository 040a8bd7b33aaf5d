"""The wire contract of the Holaboss runtime: typed messages, an HTTP client and a resuming event stream.

It is all a program needs to drive a runtime, and all that desktop and runtime share. It deliberately knows no
database, no workspace file and no user interface, and imports nothing but httpx and pydantic.
"""

PROTOCOL_VERSION = "1.0"
PRODUCT_VERSION = "0.1.0"
