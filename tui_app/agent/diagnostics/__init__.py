"""Diagnostics of language servers after edits."""
