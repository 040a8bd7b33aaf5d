"""Looking for files by name and content, in a throw-away process that a pattern of a model cannot make wait for ever.

`child` is that process: it walks (`walk`, `ignoring`) and matches (`matching`, `globs`). The tools start it through
`helpers`. It reads only below the folder it is given, and follows no link.
"""
