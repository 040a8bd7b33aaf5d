"""Commands for people and scripts that are not servers."""
