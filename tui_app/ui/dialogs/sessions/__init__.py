"""Dialogs about sessions."""
