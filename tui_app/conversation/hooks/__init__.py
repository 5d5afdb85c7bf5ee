"""The user's own programs, run around events and tools."""
