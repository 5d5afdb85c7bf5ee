"""Imports of transcripts of other programs."""
