"""A recorded session in a project of its own, to try everything on without key or network."""
