"""The demo: a recorded session in a project of its own, to try everything without a key or network."""
