"""Models, turns and tools: whoever answers, and what it may look at."""
