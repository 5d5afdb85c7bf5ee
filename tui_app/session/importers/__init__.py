"""Readers of what other programs keep of their conversations."""
