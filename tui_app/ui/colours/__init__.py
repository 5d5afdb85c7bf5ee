"""Colours: themes, tones and syntax highlighting."""
