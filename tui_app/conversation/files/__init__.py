"""Workspace files and their changes by a conversation."""
