"""The chat: its screen, its parts, and the session that it shows."""
