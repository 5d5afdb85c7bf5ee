"""One running session, its turns, and everything that can change it."""
