"""The chat pane: a transcript that stays fast at any length, a composer, and the presenter between them and
the runtime."""
