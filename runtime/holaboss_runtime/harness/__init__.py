"""What stands between a run and its executor: the contract, the frames, the supervision of host processes.

This side never imports a model SDK; `host/` is the child process that does.
"""
