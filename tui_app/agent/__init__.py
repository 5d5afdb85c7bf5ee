"""Models, turns and tools."""
