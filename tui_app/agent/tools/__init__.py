"""Read-only tools: what they may reach, what they return, how they are named."""
