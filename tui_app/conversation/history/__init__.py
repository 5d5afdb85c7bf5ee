"""A session's view, read from its log and written to it."""
