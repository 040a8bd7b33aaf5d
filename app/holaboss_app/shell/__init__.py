"""The window around the panes: rail, top bar, boot states, first start, workspaces, palette. It owns no
pane."""
