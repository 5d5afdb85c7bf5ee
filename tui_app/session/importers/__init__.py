"""Importers of conversations from other programs."""
