"""Text out of documents that nobody vouches for, in a process of its own: `holaboss-runtime parse-document <kind>`.

`kinds` says which files are documents and is light; everything else belongs to the child, which gets the bytes on its
standard input, knows no path, and is bounded by the system in memory, time and files before it looks at them.
"""
