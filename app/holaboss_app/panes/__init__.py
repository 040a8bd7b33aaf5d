"""The panes of the window, one folder each: a presenter that talks to the runtime, and widgets that know
only it."""
