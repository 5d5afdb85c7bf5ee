"""A session: its log, two views of the log, and the files next to it."""
