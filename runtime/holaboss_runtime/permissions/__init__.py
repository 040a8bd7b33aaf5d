"""What an agent may do: rules, profiles, and the decision about one call. Pure: no disk, no process, no clock.

The runtime compiles a `PermissionPolicy` for each run; the gate of the harness host applies it below every tool.
"""
