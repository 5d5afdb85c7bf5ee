"""Branches of a session and how they are merged."""
