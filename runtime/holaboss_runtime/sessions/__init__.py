"""The session core: events and inputs, leases and wakes, recovery, and the views a client reads.

Everything that asks an agent for something enters through `inbound`, every run starts in `wake`, and every run ends
in one transaction of `settle`. It deliberately knows no HTTP and no executor.
"""
