"""Dialogs about compactions."""
