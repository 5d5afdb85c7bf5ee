"""Hooks: the user's own programs, run around events and tools."""
