"""Dialogs about settings, tools and keys."""
