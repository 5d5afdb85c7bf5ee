"""The agent view: messages, safe places to cut them, and rewrites."""
