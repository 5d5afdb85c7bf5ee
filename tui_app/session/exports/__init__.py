"""Exports of sessions as files, for other programs and for reading."""
