"""Hooks: commands of the person's own that run when something happens in a session."""
