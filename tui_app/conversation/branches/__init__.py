"""Branches of a session, and their merge."""
