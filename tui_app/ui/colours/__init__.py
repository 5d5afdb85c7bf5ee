"""Themes and the colours of texts."""
