"""The two views folded from the log."""
